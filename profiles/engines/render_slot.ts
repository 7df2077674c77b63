import type { Patience } from "./patience.ts";
import { type RenderLimits, RenderProcessEnded } from "./render_process.ts";
import type { RenderProcess } from "./render_process.ts";
import { RunawayFault } from "./template_engine.ts";
import { untilAborted } from "./until_aborted.ts";

/** How much the templates of a phase may take before they are stopped. */
export interface SlotLimits extends RenderLimits {
  /** Of processor time, where the system tells it; else by the clock. */
  renderMs: number;
  /** By the clock: so long a render may wait for others to leave it some processor time. */
  waitMs: number;
  /** A process is replaced after so many renders, before its share of processor time is used up. */
  rendersPerProcess: number;
  /** A process that has had nothing to render for so long is ended; the next render starts another. */
  idleMs: number;
}

/** Renders one phase after the other, in a process that is replaced when it has ended or has rendered enough. */
export class RenderSlot {
  readonly #start: () => Promise<RenderProcess>;
  readonly #limits: SlotLimits;
  #process: RenderProcess | undefined;
  #renders = 0;
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();
  #idle: ReturnType<typeof setTimeout> | undefined;

  constructor(start: () => Promise<RenderProcess>, limits: SlotLimits) {
    this.#start = start;
    this.#limits = limits;
  }

  get isFree(): boolean {
    return this.#waiting === 0;
  }

  /** Settles when the last render asked for has ended. */
  get last(): Promise<unknown> {
    return this.#last;
  }

  async render(request: object, patience: Patience): Promise<string[]> {
    this.#waiting++;
    clearTimeout(this.#idle);
    const turn = this.#last.then(() => this.#renderTwice(request, patience)).finally(() => this.#rest());
    this.#last = turn.catch(() => {});
    return await untilAborted(turn, patience.signal);
  }

  /** Ends the process when nothing waits for it any more. */
  async stop(): Promise<void> {
    await this.#last;
    clearTimeout(this.#idle);
    await this.#process?.stop();
  }

  #rest(): void {
    this.#waiting--;
    if (!this.isFree) return;
    this.#idle = setTimeout(() => void this.#process?.stop(), this.#limits.idleMs);
    // It must not keep the parent from ending.
    Deno.unrefTimer(Number(this.#idle));
  }

  // A process may also die of what is not the template's fault, so its first death proves nothing.
  async #renderTwice(request: object, patience: Patience): Promise<string[]> {
    try {
      return await this.#renderOnce(request, patience);
    } catch (error) {
      if (!(error instanceof RenderProcessEnded)) throw error;
    }
    try {
      return await this.#renderOnce(request, patience);
    } catch (error) {
      if (!(error instanceof RenderProcessEnded)) throw error;
      throw new RunawayFault(`it ended its process (${error.message}): it may use ${this.#limits.heapMiB} MiB`);
    }
  }

  async #renderOnce(request: object, patience: Patience): Promise<string[]> {
    patience.signal?.throwIfAborted();
    if (this.#renders >= this.#limits.rendersPerProcess) await this.#process?.stop();
    if (this.#process === undefined || this.#process.isEnded) {
      this.#process = await this.#start();
      this.#renders = 0;
    }
    this.#renders++;
    return await this.#process.ask(request, patience);
  }
}
