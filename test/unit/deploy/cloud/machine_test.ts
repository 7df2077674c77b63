import assert from "node:assert/strict";
import { Machine } from "../../../../deploy/local/cloud/machine.ts";
import type { MachineContext } from "../../../../deploy/local/cloud/machine_kind.ts";
import { type FaultKind, Script } from "../../../../deploy/local/cloud/script.ts";

const order = {
  name: "w-1",
  namespace: "kube-system",
  uid: "1",
  image: "img:1",
  userDataSecret: "userdata-w-1",
  cpu: "1",
  memory: "1Gi",
  template: {},
};

interface Story {
  machine: Machine;
  done: string[];
  log: string[];
  cloud: AbortController;
}

function story(
  fault?: FaultKind,
  userData = "#!/bin/sh\ntop-secret\n",
  slow: Partial<MachineContext["hypervisor"]> = {},
): Story {
  const done: string[] = [];
  const log: string[] = [];
  const cloud = new AbortController();
  const note = <T>(what: string, value: T) => (): Promise<T> => (done.push(what), Promise.resolve(value));
  const script = new Script({
    bootSeconds: { min: 0, max: 0 },
    bootAttempts: 1,
    faults: fault === undefined ? [] : [{ kind: fault, when: ({ name }) => name === "w-1" }],
  });
  const hypervisor: MachineContext["hypervisor"] = {
    ensureInstance: note("instance", undefined),
    ensureAddress: note("address", "10.100.0.1"),
    readUserData: note("user-data", userData),
    readNode: note("node", undefined),
    deleteInstance: note("instance deleted", undefined),
    deletePods: note("pods deleted", 0),
    ...slow,
  };
  const context = { hypervisor, script, seed: 1, log: (line: string) => void log.push(line), signal: cloud.signal };
  return { machine: new Machine(context, order, 1), done, log, cloud };
}

const stops: [fault: FaultKind, phase: string, done: string[]][] = [
  ["no-instance", "waiting-for-instance", []],
  ["no-boot", "waiting-for-address", ["instance"]],
];

for (const [fault, phase, done] of stops) {
  Deno.test(`Machine: stays in phase ${phase} when its script has the fault ${fault}`, async () => {
    const told = story(fault);
    await told.machine.run();
    assert.deepEqual([told.machine.view().phase, told.machine.view().failure, told.done], [phase, undefined, done]);
  });
}

Deno.test("Machine: reports phase and reason of a failed boot, and never the content of user-data", async () => {
  const { machine, log } = story();
  await machine.run();
  const { phase, failure, bootedAt } = machine.view();
  assert.equal(phase, "failed");
  assert.equal(failure, 'user-data: Failed to parse "user-data": its first line is not "#cloud-config"');
  assert.ok(bootedAt);
  assert.ok(log.includes(`machine "w-1": failed at ${failure}`));
  assert.ok(!JSON.stringify([failure, log]).includes("top-secret"));
});

Deno.test("Machine.remove: deletes the instance and no pods when the machine never joined", async () => {
  const { machine, done } = story("no-boot");
  await machine.run();
  await machine.remove();
  assert.deepEqual([machine.view().phase, done], ["deleted", ["instance", "instance deleted"]]);
});

Deno.test("Machine.remove: the machine stays deleted when a pending request of its boot completes afterwards", async () => {
  const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
  const { machine } = story(undefined, undefined, {
    ensureAddress: async () => {
      ask();
      await answered;
      return "10.100.0.1";
    },
  });
  const life = machine.run();
  await asked;
  await machine.remove();
  answer();
  await life;
  assert.equal(machine.view().phase, "deleted");
});

Deno.test("Machine.kill: marks the machine as dead, and deletes neither its instance nor an object", async () => {
  const { machine, done } = story("no-boot");
  await machine.run();
  machine.kill();
  assert.deepEqual([machine.view().phase, done], ["dead", ["instance"]]);
});

Deno.test("Machine: does nothing after its cloud has stopped", async () => {
  const { machine, done, cloud } = story();
  cloud.abort();
  await machine.run();
  assert.deepEqual([machine.view().failure, done], [undefined, []]);
});
