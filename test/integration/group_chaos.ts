/**
 * A scaling group is rolled while Ostler's worker is killed at calls to the cloud; an independent observer checks the
 * promises.
 */
import assert from "node:assert/strict";
import type { Call, Fault } from "../../deploy/local/cloud/groups/group_api.ts";
import type { GroupSpec } from "../../deploy/local/cloud/groups/group_cloud.ts";
import { randomStream } from "../../deploy/local/cloud/machine.ts";
import { GroupObserver } from "../../deploy/local/cloud/groups/group_observer.ts";
import { upToDate } from "../support/group_story.ts";
import { first, GroupGround, kinds } from "../../deploy/local/cloud/groups/group_ground.ts";
import { withWorld } from "./world.ts";
import type { World } from "./world.ts";

const group: GroupSpec = {
  ...{ id: "projects/p/groups/workers", name: "workers", autoscalerName: "workers", role: "Worker" },
  ...{ min: 1, max: 6, size: 3, zones: ["a", "b", "c"], template: { image: first.image, disk: "20G" } },
};

/** Default for `oneReadOf`: the worker is killed at random reads of the cloud, on average at one of this many. */
const usualReads = 60;

/**
 * Rolls the group once, while the worker is killed and every second changing call to the cloud is interrupted, before
 * or after its effect.
 */
export async function rollAmongKills(seed: number): Promise<void> {
  const killer = new Killer(seed);
  await using ground = new GroupGround({ fault: (call) => killer.at(call) });
  await withWorld({ seed, settings: ground.settings }, async (world) => {
    await ground.settle(world, [group]);
    await upToDate(world, first, group.size);
    using observer = new GroupObserver({ admin: world }, ground, { workers: 1 });
    const before = ground.cloud.instances().length;
    killer.watch(world);
    const second = { image: "image-2", components: "components-2" };
    await ground.ask(world, second);
    await upToDate(world, second, group.size, 600);
    await killer.end();
    assert.ok(killer.kills >= 6, `${killer.kills} kills`);
    assert.deepEqual(observer.broken, []);
    assert.equal(ground.cloud.instances().length - before, 3, "Expected as many orders as replacements");
    assert.equal(ground.cloud.group(group.id)?.size, 3);
    for (const kind of ["pendingnodes", "joiningnodes"]) assert.deepEqual(await world.list(`${kinds}/${kind}`), []);
  });
}

/** Interrupts calls to the cloud, and kills the worker that sent them. */
export class Killer {
  kills = 0;
  #world: World | undefined;
  #changes = 0;
  #restarting: Promise<void> = Promise.resolve();
  readonly #random: () => number;
  readonly #oneReadOf: number;

  /** Kills the worker at one of `oneReadOf` reads on average, and at every second changing call. */
  constructor(seed: number, oneReadOf = usualReads) {
    this.#random = randomStream(seed, "kills");
    this.#oneReadOf = oneReadOf;
  }

  watch(world: World): void {
    this.#world = world;
  }

  /** Stops killing the worker, and waits until the worker has been restarted. */
  async end(): Promise<void> {
    this.#world = undefined;
    await this.#restarting;
  }

  at({ method }: Call): Fault | undefined {
    const world = this.#world;
    if (!world) return undefined;
    if (method === "GET") {
      if (this.#random() * this.#oneReadOf < 1) this.kill();
      return undefined;
    }
    // Every second changing call succeeds, so that the retry of an interrupted call is not interrupted again.
    if (this.#changes++ % 2 === 1) return undefined;
    this.kill();
    return this.#random() < 0.5 ? "CutBefore" : "CutAfter";
  }

  /** Kills the worker immediately, and restarts it; does nothing before `watch` and after `end`. */
  kill(): void {
    if (!this.#world) return;
    const { site: { ostler: { worker } } } = this.#world;
    this.kills += 1;
    this.#restarting = this.#restarting.then(async () => {
      worker.kill("SIGKILL");
      await worker.restart();
    });
  }
}
