/** Waits until a look at a NodeVersion would show something else. */
import type { ClusterObject } from "../../workflows/contracts/mod.ts";
import { groupNodesOf } from "../backends/scaling_group/group_nodes.ts";
import type { Kube } from "../kube/client.ts";
import { News, poll, sourceOf } from "../kube/polling.ts";
import { RolloutObject, rollouts } from "../kube/resources.ts";
import { SharedWatch } from "../kube/informer.ts";
import { autoscalingStrategies, AutoscalingStrategy } from "../kube/update_kinds.ts";
import { surveyNodeVersion } from "../backends/scaling_group/version_survey.ts";

/** What of a group's Rollout decides. */
const phases = {
  ...rollouts,
  fieldSelector: "metadata.namespace=kube-system",
  schema: RolloutObject.transform(({ status }) =>
    `${status?.phase} ${status?.["targetTemplateHash"]} ${status?.["reason"]}`
  ),
};

/** Whether an autoscaler is on, and still runs. */
const switches = {
  ...autoscalingStrategies,
  schema: AutoscalingStrategy.transform(({ spec, status }) => `${spec.enabled} ${status?.replicas ?? 0}`),
};

const watches = new WeakMap<object, SharedWatch<string>[]>();

function watchesOf(kube: Kube): SharedWatch<string>[] {
  const known = watches.get(kube.core) ?? [new SharedWatch(kube, phases), new SharedWatch(kube, switches)];
  watches.set(kube.core, known);
  return known;
}

/** Ends then, at the latest at `until` (epoch ms). */
export async function awaitNodeVersionChanged(
  kube: Kube,
  { object, fingerprint, until }: { object: ClusterObject; fingerprint: string; until: number },
): Promise<void> {
  const isOther = (before: string | undefined, now: string | undefined): boolean => before !== now;
  using news = new News([
    ...watchesOf(kube).map((watch) => sourceOf(watch, ({ before, now }) => isOther(before, now))),
    sourceOf(groupNodesOf(kube), ({ before, now }) => JSON.stringify(before) !== JSON.stringify(now)),
  ]);
  return await poll<void>({
    until: Number.MAX_SAFE_INTEGER, // to see no change is an answer too
    news,
    // What happens to many nodes at a time is looked at once.
    ...{ every: 5_000, gap: 1_000, lookBy: () => until },
    look: async () => {
      const survey = await surveyNodeVersion(kube, { object });
      const isNews = survey.state === "Gone" || survey.fingerprint !== fingerprint;
      return isNews || Date.now() >= until ? { answer: undefined } : { missing: survey.says };
    },
    expired: (missing) => new Error(missing),
  });
}
