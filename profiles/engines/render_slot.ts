import type { Patience } from "./patience.ts";
import { type RenderLimits, RenderProcessEnded } from "./render_process.ts";
import type { RenderProcess } from "./render_process.ts";
import { RunawayFault } from "./template_engine.ts";
import { untilAborted } from "./until_aborted.ts";

/** The limits of each render in a slot, and of the process of the slot. */
export interface SlotLimits extends RenderLimits {
  /** The limit of a render in processor time if the system reports it, else by the clock. */
  renderMs: number;
  /** The limit of a render by the clock, including the time in which other processes use the processor. */
  waitMs: number;
  /** The number of renders after which a process is replaced, before it reaches its limit of processor time. */
  rendersPerProcess: number;
  /** The idle time after which a process is ended; the next render starts another. */
  idleMs: number;
}

/** Renders one phase after another in a process that is replaced when it has ended or reached its number of renders. */
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

  /** Settles when the last requested render has ended. */
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

  /** Ends the process after the last requested render. */
  async stop(): Promise<void> {
    await this.#last;
    clearTimeout(this.#idle);
    await this.#process?.stop();
  }

  #rest(): void {
    this.#waiting--;
    if (!this.isFree) return;
    this.#idle = setTimeout(() => void this.#process?.stop(), this.#limits.idleMs);
    // The timer must not prevent the parent from exiting.
    Deno.unrefTimer(Number(this.#idle));
  }

  // A process can also end for reasons outside the template, so only a second end in a row blames the template.
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
      throw new RunawayFault(
        `it ended its process (${error.message}), whose memory limit is ${this.#limits.heapMiB} MiB`,
      );
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
