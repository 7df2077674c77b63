import type { PoolRef, Progress } from "../../workflows/contracts/mod.ts";
import type { Engine } from "../connect/engine.ts";
import type { World } from "../connect/world.ts";

/** An answer older than this says less than the Rollout does. */
const freshMs = 5_000;

/** What the run itself says of a pool, asked in the background: a watch must not wait for Temporal, nor need it. */
export class ProgressFeed {
  #engine: Engine | undefined;
  #asking = false;
  #latest: { progress: Progress; at: number } | undefined;

  constructor(private readonly world: World, private readonly pool: PoolRef) {
    world.engine().then((engine) => void (this.#engine = engine), () => {}); // unreachable: shown without it
  }

  /** The last answer, unless it is stale; asks for the next one. */
  look(): Progress | undefined {
    void this.#ask();
    const { progress, at } = this.#latest ?? {};
    return at !== undefined && this.world.now() - at <= freshMs ? progress : undefined;
  }

  async #ask(): Promise<void> {
    if (this.#engine === undefined || this.#asking) return;
    this.#asking = true;
    const progress = await this.#engine.progress(this.pool).catch(() => undefined); // stale soon, then left out
    if (progress !== undefined) this.#latest = { progress, at: this.world.now() };
    this.#asking = false;
  }
}
