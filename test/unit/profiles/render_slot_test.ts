import { deepEqual, equal } from "node:assert/strict";
import type { RenderProcess } from "../../../profiles/engines/render_process.ts";
import { RenderSlot, type SlotLimits } from "../../../profiles/engines/render_slot.ts";
import { eventually } from "../../support/eventually.ts";

const patience = { limitMs: 1_000 };
const limits = { rendersPerProcess: 100 } as SlotLimits;

/** Starts fake render processes, and records them in the order of their starts; `answer` determines each answer. */
class Processes {
  readonly started: { isEnded: boolean }[] = [];
  answer: () => Promise<string[]> = () => Promise.resolve(["text"]);

  start = (): Promise<RenderProcess> => {
    const process = {
      isEnded: false,
      ask: () => this.answer(),
      stop: () => Promise.resolve(void (process.isEnded = true)),
    };
    this.started.push(process);
    return Promise.resolve(process as unknown as RenderProcess);
  };

  get ended(): boolean[] {
    return this.started.map(({ isEnded }) => isEnded);
  }
}

Deno.test("RenderSlot: ends an idle process, and starts a new process for the next render", async () => {
  const processes = new Processes();
  const slot = new RenderSlot(processes.start, { ...limits, idleMs: 5 });
  await slot.render({}, patience);
  await eventually("the end of the process", () => processes.ended[0]);
  await slot.render({}, patience);
  deepEqual(processes.ended, [true, false]);
  await slot.stop();
});

Deno.test("RenderSlot: does not end a process that renders, however long the render takes", async () => {
  const processes = new Processes();
  const slot = new RenderSlot(processes.start, { ...limits, idleMs: 5 });
  await slot.render({}, patience);
  const { promise, resolve } = Promise.withResolvers<string[]>();
  processes.answer = () => promise;
  const render = slot.render({}, patience);
  await new Promise((done) => setTimeout(done, 30));
  deepEqual(processes.ended, [false]);
  resolve(["late"]);
  deepEqual(await render, ["late"]);
  equal(processes.started.length, 1);
  await slot.stop();
});

Deno.test("RenderSlot: keeps a process that renders again before the idle timeout", async () => {
  const processes = new Processes();
  const slot = new RenderSlot(processes.start, { ...limits, idleMs: 60_000 });
  for (let nth = 0; nth < 3; nth++) await slot.render({}, patience);
  deepEqual(processes.ended, [false]);
  await slot.stop();
  deepEqual(processes.ended, [true]);
});
