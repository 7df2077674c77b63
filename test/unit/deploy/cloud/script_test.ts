import assert from "node:assert/strict";
import { between, randomStream } from "../../../../deploy/local/cloud/machine.ts";
import { type MachineFacts, Script } from "../../../../deploy/local/cloud/script.ts";

function machine(ordinal: number, image = "img:1"): MachineFacts {
  return { name: `w-${ordinal}`, ordinal, image };
}

function draw(seed: number, name: string): number[] {
  const random = randomStream(seed, name);
  return Array.from({ length: 200 }, () => between(random, { min: 2, max: 5 }));
}

Deno.test("randomStream: returns equal numbers for equal seed and name, and different ones otherwise", () => {
  assert.deepEqual(draw(7, "machine/1"), draw(7, "machine/1"));
  assert.notDeepEqual(draw(7, "machine/1"), draw(7, "machine/2"));
  assert.notDeepEqual(draw(7, "machine/1"), draw(8, "machine/1"));
});

Deno.test("between: returns numbers of its range, about equally from both halves", () => {
  const draws = draw(7, "machine/1");
  assert.ok(draws.every((value) => value >= 2 && value <= 5));
  const upper = draws.filter((value) => value > 3.5).length;
  assert.ok(upper > 70 && upper < 130, `${upper} of 200 draws are in the upper half`);
});

Deno.test("Script: applies a fault only to matching machines, and only as often as configured", () => {
  const script = new Script({ faults: [{ kind: "no-boot", when: ({ image }) => image === "img:2", times: 2 }] });
  const struck = [machine(1), machine(2, "img:2"), machine(3, "img:2"), machine(4, "img:2")]
    .filter((each) => script.strike("no-boot", each) !== undefined);
  assert.deepEqual(struck.map(({ ordinal }) => ordinal), [2, 3]);
});

Deno.test("Script: does not use up a fault when another kind of fault is requested", () => {
  const script = new Script({ faults: [{ kind: "die", when: () => true, times: 1, afterSeconds: 3 }] });
  assert.equal(script.strike("no-join", machine(1)), undefined);
  assert.equal(script.strike("die", machine(1))?.afterSeconds, 3);
});

Deno.test("Script.change: resets the counts for a new fault list and keeps other fields", () => {
  const fault = { kind: "no-join", when: () => true, times: 1 } as const;
  const script = new Script({ heartbeatSeconds: 9, faults: [fault] });
  script.strike("no-join", machine(1));
  script.change({ podStartSeconds: 1 });
  assert.equal(script.strike("no-join", machine(2)), undefined);
  script.change({ faults: [fault] });
  assert.ok(script.strike("no-join", machine(3)));
  assert.equal(script.current.heartbeatSeconds, 9);
});

Deno.test("Script: refuses an invalid range, and stays unchanged", () => {
  const script = new Script();
  const before = script.current;
  assert.throws(() => script.change({ bootSeconds: { min: 3, max: 1 } }), /"bootSeconds": min 3 and max 1/);
  assert.equal(script.current, before);
});
