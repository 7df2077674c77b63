import assert from "node:assert/strict";
import { RolloutStatus } from "../../../../cli/rollout/pool_row.ts";
import type { Terminal } from "../../../../cli/terminal.ts";
import { moment } from "../../../../cli/view/durations.ts";
import { bar, waveBars } from "../../../../cli/view/wave_bars.ts";
import { start } from "../../../support/fake_world.ts";

const terminal = { isWatched: false, env: {} } as Terminal;

function bars(waves: object[], updatedReplicas: number): string[] {
  return waveBars(terminal, RolloutStatus.parse({ waves, updatedReplicas }), start);
}

Deno.test("bar: shows at least one block after the first machine, and is full only after the last", () => {
  assert.equal(bar(0, 10, 4), "░░░░");
  assert.equal(bar(1, 1000, 4), "█░░░");
  assert.equal(bar(999, 1000, 4), "███░");
  assert.equal(bar(10, 10, 4), "████");
  assert.equal(bar(12, 10, 4), "████");
});

Deno.test("waveBars: counts the machines of each wave, although the Rollout counts machines from the start of the rollout", () => {
  const lines = bars([{ upTo: 1, state: "Done" }, { upTo: 5, state: "Rolling" }, { upTo: 10, state: "Waiting" }], 3);
  assert.deepEqual(lines.map((line) => line.replace(/[█░]+/, "|")), [
    "1  |  1/1  done",
    "2  |  2/4  rolling",
    "3  |  0/5  waiting",
  ]);
  assert.equal(lines[1]?.match(/█/g)?.length, 15);
});

Deno.test("waveBars: shows until when a wave soaks", () => {
  const soakUntil = new Date(start + 300_000).toISOString();
  const [line] = bars([{ upTo: 4, state: "Soaking", soakUntil }], 4);
  assert.ok(line?.endsWith(`4/4  soaking until ${moment(soakUntil, start)}`), line);
});

Deno.test("waveBars: combines waves that are far from the current wave into one line each for earlier and later waves", () => {
  const waves = Array.from({ length: 30 }, (_, index) => ({ upTo: index + 1, state: index < 12 ? "Done" : "Waiting" }));
  const lines = bars(waves, 12);
  assert.equal(lines.length, 12);
  assert.equal(lines[0], "10 earlier waves, done");
  assert.equal(lines.at(-1), "10 more");
});

Deno.test("waveBars: numbers each wave among all waves, although the Rollout lists only the waves around the current wave", () => {
  const window = (first: number, done: number) =>
    Array.from({ length: 50 }, (_, index) => ({ upTo: (first + index) * 2, state: index < done ? "Done" : "Waiting" }));
  const lines = (given: object): string[] =>
    waveBars(terminal, RolloutStatus.parse(given), start).map((line) => line.replace(/[█░]+/, "|"));
  const middle = lines({ waves: window(26, 5), wave: "31/120", updated: "60/240" });
  assert.deepEqual([middle[0], middle[1], middle.at(-1)], ["28 earlier waves, done", " 29  |  2/2  done", "82 more"]);
  const end = lines({ waves: window(71, 50), wave: "120/120", updated: "240/240" });
  assert.deepEqual([end.length, end[0], end.at(-1)], [11, "110 earlier waves, done", "120  |  2/2  done"]);
});
