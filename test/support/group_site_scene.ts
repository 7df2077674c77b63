/**
 * Runs stories (test scenarios) of scaling groups concurrently: every story has its own cluster in memory, and all
 * stories share one Temporal server (`Stage`).
 */
import { GroupObserver } from "../../deploy/local/cloud/groups/group_observer.ts";
import { first } from "../../deploy/local/cloud/groups/group_ground.ts";
import {
  type Befalls,
  type Cast,
  type GroupScene,
  type GroupStory,
  prepareGroups,
  tell,
  upToDate,
} from "./group_story.ts";
import { GroupSite } from "./group_site.ts";
import type { Stage } from "./workflow_stage.ts";

export type SiteScene = GroupScene<GroupSite>;
export type SiteStory = GroupStory<GroupSite>;

/** Join deadlines in seconds: machines join within tenths of a second, but policies accept only whole seconds. */
const joinSeconds = { instance: 4, address: 4, registered: 6, ready: 8 };
/** Interval of the observer: shorter than any step of a machine. */
const observedEveryMs = 25;
/** Number of concurrent stories. */
const width = 3;

/** Runs stories as steps of a test, several at once: Temporal works for some of them while others wait. */
export async function tellOnSites(
  { stage, t }: { stage: Stage; t: Deno.TestContext },
  { cast, stories }: { cast: Cast; stories: readonly SiteStory[] },
): Promise<void> {
  const left = [...stories];
  const tellNext = async (): Promise<void> => {
    for (let next = left.shift(); next; next = left.shift()) {
      const [name, story] = next;
      // Deno runs steps concurrently only if they have no sanitizers.
      const apart = { sanitizeOps: false, sanitizeResources: false, sanitizeExit: false };
      await t.step({ name, ...apart, fn: () => onSite({ stage, cast }, story) });
    }
  };
  await Promise.all(Array.from({ length: width }, tellNext));
}

/** Runs a story in its own cluster, whose groups run the first version at the start. */
async function onSite({ stage, cast }: { stage: Stage; cast: Cast }, story: SiteStory[1]): Promise<void> {
  const befalls: Befalls = {};
  await using world = new GroupSite(stage, befalls);
  const { ground } = world;
  await prepareGroups(world, cast);
  const groups = cast.map(([group]) => group);
  await ground.settle(world, groups);
  await upToDate(world, first, groups.reduce((sum, { size }) => sum + size, 0));
  const surges = Object.fromEntries(cast.map(([{ name }, surge]) => [name, surge]));
  using observer = new GroupObserver({ admin: world, everyMs: observedEveryMs }, ground, surges);
  const scene = { world, ground, observer, befalls, joinSeconds, idle: () => world.idle() };
  await tell(scene, groups, story);
}
