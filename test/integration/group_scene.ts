/**
 * The test environment of scaling group stories: a real API server, a real Temporal, Ostler's real processes, and a
 * cloud simulated over HTTP.
 */
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import type { FleetWorld, GroupFleet } from "../../deploy/local/cloud/groups/group_fleet.ts";
import { GroupObserver } from "../../deploy/local/cloud/groups/group_observer.ts";
import {
  type Befalls,
  type Cast,
  type GroupScene,
  type GroupStory as Story,
  type JoinSeconds,
  prepareGroups,
  tell,
  upToDate,
} from "../support/group_story.ts";
import { first, GroupGround } from "../../deploy/local/cloud/groups/group_ground.ts";
import { withWorld } from "./world.ts";
import type { World } from "./world.ts";

export type Scene = GroupScene<World>;
export type GroupStory = Story<World>;

/** Deadlines of the join stages in seconds; simulated machines become Ready within one second or two. */
const joinSeconds: JoinSeconds = { instance: 4, address: 5, registered: 9, ready: 11 };
/** Pause (ms) after which a story expects that nothing more happens: longer than the longest poll interval. */
const idleMs = 3_000;

/**
 * Runs the stories one after the other in one world, with an independent observer. Each story must restore the initial
 * state; a failed story ends the test, which keeps the logs.
 */
export async function tellGroupStories(
  t: Deno.TestContext,
  { stories, ...setting }: Setting & { stories: readonly GroupStory[] },
): Promise<void> {
  await inScene(setting, async (scene) => {
    const groups = setting.cast.map(([group]) => group);
    for (const [name, story] of stories) {
      const isTold = await t.step(name, () => tell(scene, groups, story));
      assert.ok(isTold, `Failed to continue after this story: ${name}`);
    }
  });
}

export interface Setting {
  cast: Cast;
  mayRevive?: boolean;
  /** Creates the groups' machines; by default simulated ones. */
  fleet?: (world: FleetWorld) => Promise<GroupFleet>;
  /** Runs before any group exists. */
  prepare?: (world: World) => Promise<void>;
}

/** Starts a test site whose scaling groups run the first version, runs the story on it, and stops the site. */
export async function inScene(
  { cast, mayRevive = false, fleet, prepare }: Setting,
  story: (scene: Scene) => Promise<void>,
): Promise<void> {
  const befalls: Befalls = {};
  await using ground = new GroupGround({
    fault: (call) => befalls.fault?.(call),
    lagMs: () => befalls.lagMs ?? 0,
    isDead: (instance) => befalls.isDead?.(instance) ?? false,
    isUnready: (instance) => befalls.isUnready?.(instance) ?? false,
    isSilent: (instance) => befalls.isSilent?.(instance) ?? false,
    ...(fleet ? { fleet } : {}),
    // An instance that is being deleted stays visible for a second before it disappears.
    seconds: { boot: 0.4, ready: 0.2, gone: 1 },
  });
  await withWorld({ settings: ground.settings, mayRevive }, async (world) => {
    await prepare?.(world);
    await prepareGroups(world, cast);
    const groups = cast.map(([group]) => group);
    await ground.settle(world, groups);
    await upToDate(world, first, groups.reduce((sum, { size }) => sum + size, 0));
    const surges = Object.fromEntries(cast.map(([{ name }, surge]) => [name, surge]));
    using observer = new GroupObserver({ admin: world }, ground, surges);
    const idle = (): Promise<void> => pause(idleMs);
    await story({ world, ground, observer, befalls, joinSeconds, idle });
  });
}
