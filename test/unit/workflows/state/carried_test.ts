import { deepEqual, equal } from "node:assert/strict";
import { carriedState, freshState, readCarried } from "../../../../workflows/state/carried.ts";
import { carriedFlat, carriedNow } from "../../../support/carried_states.ts";
import { openRun } from "../../../support/open_run.ts";

const now = 77;

function throughJson<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value)) as Value;
}

Deno.test("carriedState survives JSON and the next run of the chain", () => {
  const read = readCarried(throughJson(carriedNow), now);
  deepEqual(carriedState(openRun({}, read)), carriedNow);
});

Deno.test("carriedState leaves behind what the next run reads or begins anew", () => {
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

Deno.test("readCarried takes over every field of version 2", () => {
  deepEqual(readCarried(throughJson(carriedFlat), now), carriedNow);
});

for (const field of Object.keys(carriedFlat).filter((field) => field !== "schemaVersion")) {
  Deno.test(`readCarried takes the default of version 2's ${field} where it lacks, and all else as it is`, () => {
    const { [field as "slots"]: _, ...lacking } = throughJson(carriedFlat);
    const read = readCarried(lacking, now);
    const fresh = readCarried({ schemaVersion: 2 }, now);
    const differing = (value: object, from: object): string[] =>
      Object.entries(value).flatMap(([group, fields]) =>
        typeof fields !== "object" ? [] : Object.entries(fields as object)
          .filter(([name, each]) =>
            JSON.stringify(each) !== JSON.stringify((from as Record<string, Record<string, unknown>>)[group]?.[name])
          )
          .map(([name]) => `${group}.${name}`)
      );
    const changed = differing(read, carriedNow);
    equal(changed.length > 0, true);
    deepEqual(changed.filter((path) => differing(read, fresh).includes(path)), []);
  });
}

Deno.test("readCarried takes what is empty, or of no version, as a fresh run", () => {
  deepEqual(readCarried({}, now), freshState(now));
  deepEqual(readCarried({ schemaVersion: 3 }, now), freshState(now));
  deepEqual(readCarried({ schemaVersion: 2 }, now), freshState(now));
  deepEqual(readCarried([], now), freshState(now));
});

Deno.test("readCarried reads what it knows of a newer version, and leaves the rest", () => {
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

Deno.test("readCarried takes the default for a field of another kind than it knows", () => {
  const odd = { schemaVersion: 9, people: { skipped: { e: true }, retriedAt: "never", approvedPlan: null }, waves: [] };
  deepEqual(readCarried(odd, now), freshState(now));
});

Deno.test("readCarried keeps a pause and a way back, whichever version wrote them", () => {
  for (const given of [carriedFlat, carriedNow]) {
    const { people, memory } = readCarried(throughJson(given), now);
    deepEqual([people.paused?.by, memory.rollback?.kind, memory.lastRollback?.kind], ["ada", "Abort", "Abort"]);
  }
});
