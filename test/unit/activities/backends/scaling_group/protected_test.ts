import { deepEqual, notEqual, rejects } from "node:assert/strict";
import { snapshotOf } from "../../../../../activities/pool/snapshot.ts";
import { hashOf } from "../../../../../activities/node_version/version_release.ts";
import { GroupInMemory, version } from "../../../../support/group_in_memory.ts";
import { poolOfGroup } from "../../../../../workflows/commands/start_options.ts";

/**
 * Returns the field `kept` of each machine under this policy, in a group whose cloud protects the first machine from
 * scale-in.
 */
async function kept(spec?: object): Promise<(string | undefined)[]> {
  const group = new GroupInMemory();
  group.ask(version, { stage: "Workers", digest: hashOf(version) });
  const [first] = group.cloud.instances();
  group.cloud.set(first?.providerId ?? "", { isProtected: true });
  const metadata = { namespace: "kube-system", name: "workers" };
  const selector = { matchLabels: { pool: "workers" } };
  if (spec) group.kube.put("rolloutpolicies", { metadata, spec: { selector, ...spec } });
  const { members } = await group.backend.observe(poolOfGroup("workers"));
  return members.filter(({ phase }) => phase !== "Held").map((member) => member.kept);
}

Deno.test("protection: the policy decides whether a machine with scale-in protection delays the rollout, is skipped, or is replaced", async () => {
  deepEqual(await kept(), ["Wait", undefined, undefined]);
  deepEqual(await kept({ protectedMachines: "Wait" }), ["Wait", undefined, undefined]);
  deepEqual(await kept({ protectedMachines: "Skip" }), ["Skip", undefined, undefined]);
  deepEqual(await kept({ protectedMachines: "Replace" }), [undefined, undefined, undefined]);
  deepEqual(await kept({ protectedMachines: "Nonsense" }), ["Wait", undefined, undefined]);
});

Deno.test("protection: a machine that the cloud protects during its drain is kept, and a protected new machine that never joined is deleted", async () => {
  const group = new GroupInMemory();
  group.ask(version, { stage: "Workers", digest: hashOf(version) });
  const [first] = group.cloud.instances();
  group.cloud.set(first?.providerId ?? "", { isProtected: true });
  const workers = poolOfGroup("workers");
  const says = { type: "GenerationStale", message: /scale-in protection was enabled/ };
  await rejects(group.backend.orders.release({ pool: workers, machine: "workers-1" }), says);
  deepEqual([group.cloud.instances().length, group.kube.all("pendingnodes").length], [3, 0]);
  await group.backend.orders.admit({ pool: workers, machine: "workers-new-1", victim: "workers-2" });
  const newcomer = group.cloud.instances().at(-1)?.providerId ?? "";
  group.cloud.set(newcomer, { isProtected: true });
  await group.backend.orders.release({ pool: workers, machine: "workers-new-1" });
  deepEqual(group.cloud.instance(newcomer)?.state, "Terminating");
});

Deno.test("snapshotOf: if its limit leaves machines out, lists machines that may be replaced rather than machines that must stay", () => {
  const member = (id: string, more: object = {}): Parameters<typeof snapshotOf>[0][number] => ({
    ...{ id, templateHash: "old", image: "i", kubelet: "", phase: "Ready", since: "2026-01-01T00:00:00Z" },
    ...{ marked: false, held: false, expendable: false, ...more },
  });
  const members = [...["a", "b", "c"].map((id) => member(id, { kept: "Wait" })), member("d"), member("e")];
  const { old, counts } = snapshotOf(members, { templateHash: "new", unproven: [], limit: 2 });
  deepEqual([old.map(({ id }) => id), counts.old], [["d", "e"], 5]);
  const freed = members.map((each, nth) => nth === 0 ? member("a") : each);
  const prints = [members, freed].map((all) => snapshotOf(all, { templateHash: "new", unproven: [], limit: 2 }));
  notEqual(prints[0]?.fingerprint, prints[1]?.fingerprint);
});
