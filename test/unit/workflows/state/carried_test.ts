import { deepEqual } from "node:assert/strict";
import { carriedState, freshState, readCarried } from "../../../../workflows/state/input.ts";
import { carriedNow } from "../../../support/carried_states.ts";
import { openRun } from "../../../support/open_run.ts";

const now = 77;

function throughJson<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value)) as Value;
}

Deno.test("carriedState: is unchanged after JSON and the next run of the chain", () => {
  const read = readCarried(throughJson(carriedNow), now);
  deepEqual(carriedState(openRun({}, read)), carriedNow);
});

Deno.test("carriedState: excludes state that the next run reads or begins again", () => {
  const groups = Object.entries(carriedState(openRun({}, carriedNow)));
  deepEqual(groups.map(([group]) => group), [
    ...["schemaVersion", "target", "people", "waves", "machines", "records", "slots", "memory", "loop"],
  ]);
  const fields = groups.flatMap(([, fields]) => Object.keys(fields as object));
  deepEqual(
    fields.filter((field) =>
      ["desired", "isPlanRead", "heard", "snapshot", "tries", "nudged", "thrown"].includes(field)
    ),
    [],
  );
});

for (const [group, fields] of Object.entries(carriedNow).filter(([group]) => group !== "schemaVersion")) {
  for (const field of Object.keys(fields as object)) {
    Deno.test(`readCarried: returns the default of ${group}.${field} when missing, and the rest unchanged`, () => {
      const { [field]: _, ...lacking } = throughJson(fields as Record<string, unknown>);
      const fresh = freshState(now)[group as "waves"][field as "rolled"];
      const read = readCarried({ ...throughJson(carriedNow), [group]: lacking }, now);
      deepEqual(read, { ...carriedNow, [group]: { ...fields as object, [field]: fresh } });
    });
  }
}

Deno.test("readCarried: returns the initial state when the input is empty or without a version", () => {
  deepEqual(readCarried({}, now), freshState(now));
  deepEqual(readCarried({ schemaVersion: 1 }, now), freshState(now));
  deepEqual(readCarried([], now), freshState(now));
});

Deno.test("readCarried: reads known fields and drops the rest when a newer version wrote the state", () => {
  const newer = {
    ...throughJson(carriedNow),
    schemaVersion: 9,
    budgets: { spent: 3 },
    machines: { ...carriedNow.machines, quarters: ["q"] },
    waves: { rolled: true, current: { ...carriedNow.waves.current, pace: "slow" } },
  };
  const { waves, ...rest } = carriedNow;
  const read = readCarried(newer, now);
  deepEqual(read, { ...rest, waves: { ...waves, countedBy: null } });
});

Deno.test("readCarried: returns the default when a field has another type", () => {
  const odd = { schemaVersion: 9, people: { skipped: { e: true }, retriedAt: "never", approvedPlan: null }, waves: [] };
  deepEqual(readCarried(odd, now), freshState(now));
});
