/** Waits until a new survey of a NodeVersion would differ from the last one. */
import type { Cluster } from "../../cluster.ts";
import type { ClusterObject } from "../../../workflows/contracts/mod.ts";
import { groupNodesOf } from "../../node_version/group_nodes.ts";
import { News, poll, sourceOf } from "../../kube/polling.ts";
import { RolloutObject, rollouts } from "../../kube/resources.ts";
import { autoscalingStrategies, AutoscalingStrategy, NodeVersion, nodeVersions } from "../../kube/update_kinds.ts";
import { upgradeStateOf } from "../../kubernetes/cancelled_upgrade.ts";
import { surveyNodeVersion } from "./version_survey.ts";

/** The fields of a group's Rollout that a survey depends on. */
const phases = {
  ...rollouts,
  fieldSelector: "metadata.namespace=kube-system",
  schema: RolloutObject.transform(({ status }) =>
    `${status?.phase} ${status?.["targetTemplateHash"]} ${status?.["reason"]}`
  ),
};

/**
 * The fields of an AutoscalingStrategy that a survey depends on: whether its autoscaler is enabled, and how many
 * replicas of the autoscaler run.
 */
const switches = {
  ...autoscalingStrategies,
  schema: AutoscalingStrategy.transform(({ spec, status }) => `${spec.enabled} ${status?.replicas ?? 0}`),
};

/**
 * The fields of a NodeVersion that a survey depends on, and whose changes send no signal to the workflow of the
 * NodeVersion.
 */
const upgrades = {
  ...nodeVersions,
  schema: NodeVersion.transform((version) => JSON.stringify(upgradeStateOf(version))),
};

/**
 * Ends when the fingerprint of a new survey differs from `fingerprint`, or when the NodeVersion was deleted; at `until`
 * (epoch ms) at the latest.
 */
export async function awaitNodeVersionChanged(
  kube: Cluster,
  { object, fingerprint, until }: { object: ClusterObject; fingerprint: string; until: number },
  hands: { hasHands?: boolean } = {},
): Promise<void> {
  const isOther = (before: string | undefined, now: string | undefined): boolean => before !== now;
  using news = new News([
    ...[kube.watches.of(phases), kube.watches.of(switches)].map((watch) =>
      sourceOf(watch, ({ before, now }) => isOther(before, now))
    ),
    sourceOf(kube.watches.of(upgrades), ({ key, before, now }) => key === object.name && isOther(before, now)),
    sourceOf(groupNodesOf(kube), ({ before, now }) => JSON.stringify(before) !== JSON.stringify(now)),
  ]);
  return await poll<void>({
    // `poll` must not throw at `until`, because an unchanged survey is a result and not an error.
    until: Number.MAX_SAFE_INTEGER,
    news,
    // Many changes of nodes within a second cause only one survey.
    ...{ every: 5_000, gap: 1_000, lookBy: () => until },
    look: async () => {
      const survey = await surveyNodeVersion(kube, { object }, hands);
      const isNews = survey.state === "Gone" || survey.fingerprint !== fingerprint;
      return isNews || Date.now() >= until ? { answer: undefined } : { missing: survey.says };
    },
    expired: (missing) => new Error(missing),
  });
}
