import { largestMiB } from "./bare_deno.ts";
import type { Patience } from "./patience.ts";
import { RenderProcess } from "./render_process.ts";
import { RenderSlot, type SlotLimits } from "./render_slot.ts";
import { RunawayFault, type TemplateEngine, type TemplateRequest } from "./template_engine.ts";
import { untilAborted } from "./until_aborted.ts";

export interface PoolLimits extends SlotLimits {
  /** How many processes are kept at most. */
  processes: number;
  /** By the clock: so long it is searched for the one that ran away among several files; a profile may have thousands. */
  searchMs: number;
}

/** What runs in the processes of a pool. */
export interface ProcessKind {
  module: URL;
  /** What a new process is told before its first request. */
  opening?: () => object;
  /** Whether scopes may share a process: they may not where a template can change the one it runs in. */
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
  // A change of a profile is rendered for pool after pool; then there may be none for weeks.
  idleMs: 120_000,
};

/** What a file may take by itself when one of several ran away; a webhook has to answer in eight seconds. */
const blameMs = 2_000;

/**
 * A template engine whose templates run in processes without any permission, which are kept between renders. They are
 * judged by the processor time that they take, as a busy host lets the clock of the best template run on.
 */
export class ProcessPool implements TemplateEngine {
  readonly #kind: ProcessKind;
  readonly #limits: PoolLimits;
  readonly #slots = new Map<string, RenderSlot>();

  constructor(kind: ProcessKind, limits: Partial<PoolLimits>) {
    this.#kind = kind;
    this.#limits = { ...defaultLimits, ...limits };
  }

  /** Most memory that all of its processes may take. */
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
   * The same fault with the file that is to blame: it is found by rendering each alone; first come the snippets without
   * any. Without a file when that takes too long: the verdict stands all the same.
   */
  async #placed(request: TemplateRequest, fault: RunawayFault, asked?: AbortSignal): Promise<RunawayFault> {
    const late = AbortSignal.timeout(this.#limits.searchMs);
    const signal = asked ? AbortSignal.any([asked, late]) : late;
    const patience = this.#patience(Math.min(this.#limits.renderMs, blameMs), signal);
    const alone = request.files.map((file) => [file]);
    for (const files of Object.keys(request.snippets).length === 0 ? alone : [[], ...alone]) {
      if (signal.aborted) break;
      // That much has just run away.
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

  /** Nobody waits behind an endless template while another process is free. */
  #freeSlot(): RenderSlot | undefined {
    const free = [...this.#slots.values()].find(({ isFree }) => isFree);
    return free ?? (this.#slots.size < this.#limits.processes ? this.#addSlot(String(this.#slots.size)) : undefined);
  }

  #slotOf(scope: string): RenderSlot {
    const known = this.#slots.get(scope);
    if (known !== undefined) {
      // A Map keeps the order of insertion: the scope used longest ago stands first.
      this.#slots.delete(scope);
      this.#slots.set(scope, known);
      return known;
    }
    if (this.#slots.size < this.#limits.processes) return this.#addSlot(scope);
    const [[name, oldest] = []] = this.#slots;
    if (name !== undefined) this.#slots.delete(name);
    // What it has to do it does; the process in its place starts when it is gone, so that there are never more.
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
