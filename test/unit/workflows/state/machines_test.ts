import { deepEqual } from "node:assert/strict";
import { freshMachines, openMachines, postpone } from "../../../../workflows/state/machines.ts";

Deno.test("postpone: extends the drain of an update in place, also in the next run of the chain", () => {
  const begun = { since: 1, templateHash: "new", image: "i" };
  const machines = openMachines({ ...freshMachines(), updating: { one: { ...begun, drainSince: 5 }, two: begun } });
  for (const machine of ["one", "two", "three"]) postpone(machines, machine, 100);
  deepEqual(machines.updating, { one: { ...begun, drainSince: 105 }, two: begun });
});
