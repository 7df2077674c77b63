import assert from "node:assert/strict";
import { BackOff, type Revivable, Revival } from "../../../../deploy/local/process/revival.ts";
import { ProcessCrash } from "../../../../deploy/local/process/process_crash.ts";

const rules = { firstMs: 1_000, longestMs: 8_000, forgivenAfterMs: 60_000, mostEnds: 5, withinMs: 60_000 };

const exit = { code: 3, signal: null, isExpected: false };
const crash = new ProcessCrash({ processName: "controller", exit, logPath: "/logs/controller.log", logTail: "a\nb" });

/**
 * A process that never exits by itself: its nth start fails with the nth entry of `starts`, or succeeds without one.
 */
class FakeProcess implements Revivable {
  readonly name = "controller";
  isRunning = false;
  isWanted = true;
  started = 0;

  constructor(private readonly starts: (Error | undefined)[] = []) {}

  start(): Promise<void> {
    const failure = this.starts[this.started++];
    this.isRunning = failure === undefined;
    return failure === undefined ? Promise.resolve() : Promise.reject(failure);
  }
}

interface Given {
  revival: Revival;
  said: string[];
  rests: number[];
  ends: Error[];
  lifetime: AbortController;
  clock: { ms: number };
}

/** Returns a Revival of the process with a fake clock: a pause advances the clock at once, then calls `duringRest`. */
function given(process: FakeProcess, duringRest: () => void = () => {}): Given {
  const [said, rests, ends]: [string[], number[], Error[]] = [[], [], []];
  const lifetime = new AbortController();
  const clock = { ms: 0 };
  const revival = new Revival(process, {
    say: (line) => said.push(line),
    giveUp: (end) => ends.push(end),
    lifetime: lifetime.signal,
    backOff: new BackOff(rules),
    now: () => clock.ms,
    rest: (ms) => {
      rests.push(ms);
      clock.ms += ms;
      duringRest();
      return Promise.resolve();
    },
  });
  return { revival, said, rests, ends, lifetime, clock };
}

Deno.test("Revival: restarts a process after one second, and reports it in one line", async () => {
  const process = new FakeProcess();
  const { revival, said, rests, ends } = given(process);
  await revival.after(crash);
  assert.deepEqual([process.started, process.isRunning, rests, ends], [1, true, [1_000], []]);
  assert.deepEqual(said, ['"controller" exited with code 3; restarting in 1 s']);
});

Deno.test("Revival: doubles the pause after each exit, and gives up after five exits within a minute", async () => {
  const late = new Error('Timed out after 60 s waiting for process "controller" to become ready: no answer\nand more');
  const process = new FakeProcess([crash, crash, late, crash]);
  const { revival, said, rests, ends } = given(process);
  await revival.after(crash);
  assert.deepEqual([process.started, rests], [4, [1_000, 2_000, 4_000, 8_000]]);
  assert.equal(
    said.at(-1),
    'Timed out after 60 s waiting for process "controller" to become ready: no answer; restarting in 8 s',
  );
  assert.deepEqual(ends, [crash], "Expected the last failure with the lines of its log");
});

Deno.test("Revival: retries without limit when starts fail slowly, as while an API server is suspended", async () => {
  const process = new FakeProcess(Array(20).fill(crash));
  const { revival, ends, rests, clock } = given(process, () => void (clock.ms += 20_000));
  await revival.after(crash);
  assert.deepEqual([process.started, ends], [21, []]);
  assert.equal(Math.max(...rests), rules.longestMs);
});

Deno.test("Revival: returns to the shortest pause after the process has run for a minute", async () => {
  const process = new FakeProcess();
  const { revival, rests, clock } = given(process);
  for (const ranMs of [0, 1_000, 61_000]) {
    clock.ms += ranMs;
    await revival.after(crash);
  }
  assert.deepEqual(rests, [1_000, 2_000, 1_000]);
});

for (
  const [what, interfere] of [
    ["was stopped on purpose during the pause", (one: FakeProcess) => void (one.isWanted = false)],
    ["was started by another caller during the pause", (one: FakeProcess) => void (one.isRunning = true)],
  ] as const
) {
  Deno.test(`Revival: does not restart a process that ${what}`, async () => {
    const process = new FakeProcess();
    const { revival, ends } = given(process, () => interfere(process));
    await revival.after(crash);
    assert.deepEqual([process.started, ends], [0, []]);
  });
}

Deno.test("Revival: starts nothing after the whole stack has stopped", async () => {
  const process = new FakeProcess();
  const { revival, lifetime, ends } = given(process, () => lifetime.abort());
  await revival.after(crash);
  assert.deepEqual([process.started, ends], [0, []]);
});
