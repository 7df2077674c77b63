import { largestMiB } from "./bare_deno.ts";
import type { Patience } from "./patience.ts";
import { RenderProcess } from "./render_process.ts";
import { RenderSlot, type SlotLimits } from "./render_slot.ts";
import { RunawayFault, type TemplateEngine, type TemplateRequest } from "./template_engine.ts";
import { untilAborted } from "./until_aborted.ts";

export interface PoolLimits extends SlotLimits {
  /** The maximum number of processes. */
  processes: number;
  /** Milliseconds, by the clock, to find the file that exceeded a limit; a profile can have thousands of files. */
  searchMs: number;
}

/** The program that the processes of a pool run, and whether scopes share a process. */
interface ProcessKind {
  module: URL;
  /** Returns the message to a new process before its first request. */
  opening?: () => object;
  /** Whether scopes can share a process, which is safe only if a template cannot change its process. */
  isShared: boolean;
}

const defaultLimits: PoolLimits = {
  renderMs: 5_000,
  waitMs: 60_000,
  searchMs: 10_000,
  startMs: 30_000,
  heapMiB: 128,
  answerBytes: 4 * 1024 * 1024,
  cpuSeconds: 60,
  processes: 4,
  rendersPerProcess: 2_000,
  // A changed profile is rendered for one pool after another, so an idle process is kept for the next pool. It ends
  // after two minutes, because the next change can be weeks away.
  idleMs: 120_000,
};

/**
 * Milliseconds of processor time for each file in the search for the file that exceeded a limit; few, because a webhook
 * must answer within eight seconds.
 */
const blameMs = 2_000;

/**
 * A template engine whose templates run in processes without any permission, which stay alive between renders.
 * Templates are limited by processor time, because on a busy host even a valid template can take long by the clock.
 */
export class ProcessPool implements TemplateEngine {
  readonly #kind: ProcessKind;
  readonly #limits: PoolLimits;
  readonly #slots = new Map<string, RenderSlot>();

  constructor(kind: ProcessKind, limits: Partial<PoolLimits>) {
    this.#kind = kind;
    this.#limits = { ...defaultLimits, ...limits };
  }

  /** The most memory that all processes together can use. */
  get largestMiB(): number {
    return this.#limits.processes * largestMiB(this.#limits);
  }

  async render(request: TemplateRequest, signal?: AbortSignal): Promise<string[]> {
    try {
      return await this.#renderIn(request, this.#patience(this.#limits.renderMs, signal));
    } catch (error) {
      throw error instanceof RunawayFault ? await this.#placed(request, error, signal) : error;
    }
  }

  async #renderIn({ scope, files, snippets, data }: TemplateRequest, patience: Patience): Promise<string[]> {
    let slot = this.#slotFor(scope);
    while (slot === undefined) {
      await untilAborted(Promise.race([...this.#slots.values()].map(({ last }) => last)), patience.signal);
      slot = this.#slotFor(scope);
    }
    return await slot.render({ files, snippets, data, maxBytes: this.#limits.answerBytes }, patience);
  }

  /**
   * Returns the fault with the file that exceeded a limit. To find this file, renders the snippets without a file, then
   * each file alone. Returns the fault without a file if the snippets alone exceed the limit, or if the search does not
   * find a file in time.
   */
  async #placed(request: TemplateRequest, fault: RunawayFault, asked?: AbortSignal): Promise<RunawayFault> {
    const late = AbortSignal.timeout(this.#limits.searchMs);
    const signal = asked ? AbortSignal.any([asked, late]) : late;
    const patience = this.#patience(Math.min(this.#limits.renderMs, blameMs), signal);
    const alone = request.files.map((file) => [file]);
    for (const files of Object.keys(request.snippets).length === 0 ? alone : [[], ...alone]) {
      if (signal.aborted) break;
      // If the request has only this file, the file exceeded the limit, so it does not need another render.
      if (files.length === request.files.length) return new RunawayFault(fault.message, files[0]?.path);
      try {
        await this.#renderIn({ ...request, files }, patience);
      } catch (error) {
        if (error instanceof RunawayFault) return new RunawayFault(fault.message, files[0]?.path);
      }
    }
    return fault;
  }

  #patience(processorMs: number, signal: AbortSignal | undefined): Patience {
    return { limitMs: this.#limits.waitMs, processorMs, signal };
  }

  async close(): Promise<void> {
    const slots = [...this.#slots.values()];
    this.#slots.clear();
    await Promise.all(slots.map((slot) => slot.stop()));
  }

  #slotFor(scope: string): RenderSlot | undefined {
    return this.#kind.isShared ? this.#freeSlot() : this.#slotOf(scope);
  }

  /**
   * Returns a free slot, or a new one, so that no render waits for an endless template while another process is free.
   * Returns undefined if all slots are busy and no process may be added.
   */
  #freeSlot(): RenderSlot | undefined {
    const free = [...this.#slots.values()].find(({ isFree }) => isFree);
    return free ?? (this.#slots.size < this.#limits.processes ? this.#addSlot(String(this.#slots.size)) : undefined);
  }

  #slotOf(scope: string): RenderSlot {
    const known = this.#slots.get(scope);
    if (known !== undefined) {
      // A Map keeps the order of insertion, so the least recently used scope is first.
      this.#slots.delete(scope);
      this.#slots.set(scope, known);
      return known;
    }
    if (this.#slots.size < this.#limits.processes) return this.#addSlot(scope);
    const [[name, oldest] = []] = this.#slots;
    if (name !== undefined) this.#slots.delete(name);
    // The new process starts after the oldest slot has finished its work and ended, so the maximum is never exceeded.
    return this.#addSlot(scope, oldest?.stop());
  }

  #addSlot(name: string, place?: Promise<void>): RenderSlot {
    const { module, opening } = this.#kind;
    const slot = new RenderSlot(async () => {
      await place;
      return await RenderProcess.start(module, this.#limits, opening?.());
    }, this.#limits);
    this.#slots.set(name, slot);
    return slot;
  }
}
