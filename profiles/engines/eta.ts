import { type RenderLimits, RenderProcess, RenderProcessEnded, RenderTimeout } from "./render_process.ts";
import { type TemplateEngine, TemplateFault, type TemplateRequest } from "./template_engine.ts";

/** How much a template may take before it is stopped. */
export interface EtaLimits extends RenderLimits {
  /** For one file. */
  renderMs: number;
  /** How many scopes keep their process alive. */
  processes: number;
  /** A process is replaced after so many files, before its share of processor time is used up. */
  rendersPerProcess: number;
}

const defaultLimits: EtaLimits = {
  renderMs: 5_000,
  startMs: 30_000,
  heapMiB: 128,
  answerBytes: 4 * 1024 * 1024,
  cpuSeconds: 60,
  processes: 4,
  rendersPerProcess: 2_000,
};

interface Slot {
  process: RenderProcess | undefined;
  renders: number;
  /** Settles when the last render asked for has ended; a process does one at a time. */
  last: Promise<unknown>;
}

/**
 * Renders Eta, which is arbitrary JavaScript, in processes without any permission.
 * Each scope has a process of its own, for a template can change everything in the one it runs in.
 */
export class EtaEngine implements TemplateEngine {
  readonly #limits: EtaLimits;
  readonly #slots = new Map<string, Slot>();

  constructor(limits: Partial<EtaLimits> = {}) {
    this.#limits = { ...defaultLimits, ...limits };
  }

  async render(request: TemplateRequest): Promise<string> {
    const slot = this.#slotFor(request.scope);
    const turn = slot.last.then(() => this.#renderTwice(slot, request));
    slot.last = turn.catch(() => {});
    return await turn;
  }

  async close(): Promise<void> {
    const slots = [...this.#slots.values()];
    this.#slots.clear();
    await Promise.all(slots.map(stop));
  }

  #slotFor(scope: string): Slot {
    const slot = this.#slots.get(scope) ?? { process: undefined, renders: 0, last: Promise.resolve() };
    // A Map keeps the order of insertion: the scope used longest ago stands first.
    this.#slots.delete(scope);
    this.#slots.set(scope, slot);
    const [oldest] = this.#slots;
    if (this.#slots.size > this.#limits.processes && oldest !== undefined) {
      this.#slots.delete(oldest[0]);
      void stop(oldest[1]);
    }
    return slot;
  }

  // A process may also die of what is not the template's fault, so its first death proves nothing.
  async #renderTwice(slot: Slot, request: TemplateRequest): Promise<string> {
    try {
      return await this.#renderOnce(slot, request);
    } catch (error) {
      if (!(error instanceof RenderProcessEnded)) throw error;
    }
    try {
      return await this.#renderOnce(slot, request);
    } catch (error) {
      if (!(error instanceof RenderProcessEnded)) throw error;
      throw new TemplateFault(`it ended its process (${error.message}): it may use ${this.#limits.heapMiB} MiB`);
    }
  }

  async #renderOnce(slot: Slot, { name, template, snippets, data }: TemplateRequest): Promise<string> {
    if (slot.renders >= this.#limits.rendersPerProcess) await slot.process?.stop();
    if (slot.process === undefined || slot.process.isEnded) {
      slot.process = await RenderProcess.start(new URL("./eta_child.ts", import.meta.url), this.#limits);
      slot.renders = 0;
    }
    slot.renders++;
    try {
      return await slot.process.ask({ name, template, snippets, data }, this.#limits.renderMs);
    } catch (error) {
      if (!(error instanceof RenderTimeout)) throw error;
      throw new TemplateFault(`it was not done after ${this.#limits.renderMs} ms`);
    }
  }
}

async function stop(slot: Slot): Promise<void> {
  await slot.last;
  await slot.process?.stop();
}
