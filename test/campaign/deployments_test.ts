/**
 * Runs the scripts of hands (Ostler's pods on nodes) on a machine that really boots its OSTree deployments: an update,
 * a rollback from a bad deployment, and another update.
 */
import { deepEqual, equal, match, notEqual } from "node:assert/strict";
import type { OsOutcome } from "../../workflows/contracts/mod.ts";
import { type OstreeMachine, withOstreeMachine } from "./deployments/ostree_machine.ts";
import { machineTest } from "../machines/real_machines.ts";

machineTest("hands: a machine boots the deployed commit, rolls back from a bad one, and takes another", async () => {
  await withOstreeMachine(async (machine) => {
    const first = await machine.booted();
    const [a, b, c] = [await machine.digest("a"), await machine.digest("b"), await machine.digest("c")];
    deepEqual(placesOf(await machine.give("Status")), { bootId: first, booted: a, staged: "", fallback: "" });

    const second = await update(machine, b, first);
    deepEqual(placesOf(await machine.give("Status")), { bootId: second, booted: b, staged: "", fallback: a });
    match(await machine.read("/etc/os-release"), /PRETTY_NAME="Debian GNU\/Linux 12, b"/);

    const third = await update(machine, c, second);
    const { booted, fallback } = placesOf(await machine.give("Status"));
    deepEqual([booted, fallback], [b, ""], "Expected the boot loader to return to commit B");
    equal((await machine.read("/run/booted-deployment")).split(".")[0], b.slice("sha256:".length));

    const fourth = await update(machine, a, third);
    deepEqual(placesOf(await machine.give("Status")), { bootId: fourth, booted: a, staged: "", fallback: b });
    await machine.give("GoBack", { bootId: fourth });
    const fifth = await machine.booted(fourth);
    deepEqual(placesOf(await machine.give("Status")), { bootId: fifth, booted: b, staged: "", fallback: a });
  });
});

/** Stages the commit and orders its boot; returns the boot ID after the boot. */
async function update(machine: OstreeMachine, digest: string, bootId: string): Promise<string> {
  equal(placesOf(await machine.give("Stage", { digest, token: bootId })).staged, digest);
  equal(placesOf(await machine.give("Apply", { digest, bootId, token: bootId })).bootId, bootId);
  const after = await machine.booted(bootId);
  notEqual(after, bootId);
  return after;
}

function placesOf(outcome: OsOutcome): { bootId: string; booted: string; staged: string; fallback: string } {
  if (outcome.outcome !== "Done") {
    throw new Error(`The machine failed to execute the order: ${JSON.stringify(outcome)}`);
  }
  return outcome.status;
}
