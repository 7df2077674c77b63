/** Kills Ostler's worker as soon as a workflow begins a new step, at most once for each step. */
import type { World } from "../integration/world.ts";

export interface StepKillerOptions {
  /** The workflows whose steps are watched. */
  workflowIds: readonly string[];
  /** Returns a name of a step by workflow, activity and summary: the worker is killed once for each name. */
  nameOf: (workflowId: string, activity: string, summary: string) => string;
}

const everyMs = 100;

/** Kills the worker at new steps until it is disposed of. */
export class StepKiller implements AsyncDisposable {
  /** The steps at which the worker was killed, in order. */
  readonly killedAt = new Set<string>();
  readonly #world: World;
  readonly #options: StepKillerOptions;
  readonly #ended = new AbortController();
  readonly #run: Promise<void>;

  constructor(world: World, options: StepKillerOptions) {
    this.#world = world;
    this.#options = options;
    this.#run = this.#watch();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort();
    await this.#run;
  }

  async #watch(): Promise<void> {
    const { worker } = this.#world.site.ostler;
    while (!this.#ended.signal.aborted) {
      const names = (await Promise.all(this.#options.workflowIds.map((id) => this.#stepsOf(id)))).flat();
      const [next] = names.filter((name) => !this.killedAt.has(name));
      if (next !== undefined) {
        this.killedAt.add(next);
        worker.kill("SIGKILL");
        await worker.restart();
      }
      await new Promise((done) => setTimeout(done, everyMs));
    }
  }

  /** Returns the steps of the workflow's current run; empty before its first run. */
  async #stepsOf(workflowId: string): Promise<string[]> {
    const handle = this.#world.temporal.workflow.getHandle(workflowId);
    const { events = [] } = await handle.fetchHistory().catch(() => ({ events: [] }));
    return (events ?? []).flatMap(({ activityTaskScheduledEventAttributes: scheduled, userMetadata }) => {
      if (!scheduled) return [];
      const summary = userMetadata?.summary?.data ? new TextDecoder().decode(userMetadata.summary.data) : "";
      return [this.#options.nameOf(workflowId, scheduled.activityType?.name ?? "", summary)];
    });
  }
}
