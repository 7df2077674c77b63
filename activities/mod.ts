/** Creates all activities; workers use only this module of `activities/`. */
import type {
  AutoscalerActivities,
  AwaitActivities,
  DiscoveryActivities,
  ImageActivities,
  JoiningActivities,
  NodeUpdateActivities,
  NodeVersionActivities,
  NodeVersionWaits,
  NoticeActivities,
  PoolRef,
  PublishActivities,
  ReadActivities,
  RenewalActivities,
  RenewalWaits,
  UpgradeActivities,
  UpgradeWaits,
  WriteActivities,
} from "../workflows/contracts/mod.ts";
import { withSignsOfLife } from "./at_work.ts";
import { holdAutoscalers, letAutoscalersGo } from "./autoscaler/hold.ts";
import { ensureAutoscalerKept } from "./autoscaler/keep_autoscaler.ts";
import { withBugsSorted } from "./bugs.ts";
import { ensurePoolCleanedUp } from "./config/clean_up.ts";
import { listDuePools, renewPublished } from "./config/renew_published.ts";
import type { Publisher } from "./config/publish_config.ts";
import { renewResting } from "./config/renew_resting.ts";
import { awaitGates } from "./gates/await_gates.ts";
import type { MetricsAccess } from "./gates/prometheus_query.ts";
import { awaitMachinesJoined } from "./pool/await_joined.ts";
import { deleteMachine } from "./pool/delete_machine.ts";
import { awaitMachineGone } from "./pool/await_machine.ts";
import { awaitMachineRelieved } from "./pool/await_relieved.ts";
import { ensureReleaseEnded, ensureStageReleased, ensureVersionTold } from "./node_version/version_release.ts";
import { ensureNodeAnnotated } from "./node_version/joining_nodes.ts";
import { resolveImage } from "./os_image/resolve_image.ts";
import { ensureImageTold } from "./os_image/tell_image.ts";
import { verifyImage } from "./os_image/verify_image.ts";
import { awaitNodeEmptied, awaitOwnNodeDrained, awaitReplacementJoined, awaitVictimGone } from "./pool/stages.ts";
import type { Backend, GiveOrder, MemberRef } from "./backends/contract.ts";
import {
  awaitNodeVersionChanged,
  backendOf,
  discoverScalingGroups,
  holdRebalancing,
  letRebalancingGo,
  ordersOf,
  strayNode,
  surveyNodeVersion,
  updateSteps,
} from "./backends/registry.ts";
import { withOwnCluster } from "./own_cluster.ts";
import { deliverNotice, type NoticeFiles } from "./notices/deliver_notice.ts";
import { DrainMeasure, measuredJoin, measuredUpdates, measuredWait, withFailuresCounted } from "./measures.ts";
import type { Measures } from "./measures.ts";
import type { Kube } from "./kube/client.ts";
import {
  ensureControlPlaneAnnounced,
  ensureControlPlaneUncordoned,
  ensureUpgradeEnded,
  ensureUpgradeReported,
} from "./kubernetes/announce.ts";
import { checkUpgrade } from "./kubernetes/check.ts";
import { awaitCertificatesRenewed, awaitControlPlaneHealthy } from "./kubernetes/healthy.ts";
import { awaitRenewalOrdered, awaitUpgradeOrdered } from "./kubernetes/order_upgrade.ts";
import { ensureCertificatesRead, ensureRenewalReported, surveyRenewal } from "./kubernetes/renewal.ts";
import { awaitUpgradeChanged, surveyUpgrade, type UpgradeReader } from "./kubernetes/survey.ts";
import { givenOrder } from "./os/hands.ts";
import { handsImagePattern } from "./os/hands_image.ts";
import { refused } from "./failures.ts";
import { type Forecast, planRollout } from "./pool/plan_rollout.ts";
import { awaitDesiredSettled, readDesired } from "./pool/read_desired.ts";
import { awaitPoolChanged, readPool } from "./pool/read_pool.ts";
import { publishDesired, readRound } from "./pool/read_round.ts";
import { ensureSlotsKept, ensureSlotTaken } from "./pool/slots.ts";
import { recall } from "./status/recall.ts";
import { ensureRolloutReported } from "./status/report_rollout.ts";

export type Activities =
  & ReadActivities
  & PublishActivities
  & WriteActivities
  & AwaitActivities
  & NoticeActivities
  & JoiningActivities
  & AutoscalerActivities
  & DiscoveryActivities
  & ImageActivities
  & NodeVersionActivities
  & NodeUpdateActivities
  & NodeVersionWaits
  & UpgradeActivities
  & UpgradeWaits
  & RenewalActivities
  & RenewalWaits;

/**
 * Dependencies of the activities. `forecast` is the planner, passed in because activities make no decisions. `cluster`
 * is the name that Ostler's setting gives to the worker's Kubernetes cluster, if any; `measures` receives durations, if
 * set; `notices` are the destinations of notifications. `metricsAccess` lists the servers that gates on metrics may
 * query (none by default). `handsImage` is the image of the pods that carry out Ostler's orders on nodes, such as to
 * stage an image or to upgrade Kubernetes (none by default); `giveOrder`, if set, carries out the orders of in-place
 * updates without these pods.
 */
export type ActivityDeps = Publisher & {
  forecast: Forecast;
  cluster?: string;
  measures?: Measures;
  notices?: NoticeFiles;
  metricsAccess?: MetricsAccess;
  handsImage?: string;
  giveOrder?: GiveOrder;
};

const nowhere: NoticeFiles = { webhook: "", template: "", cloudEvents: "" };

/** Creates the activities for one API server. */
export function createActivities(deps: ActivityDeps): Activities {
  const { kube, measures } = deps;
  const drains = new DrainMeasure(measures);
  const imageOf = async (member: MemberRef): Promise<string> => (await of(member).state(member))?.image ?? "";
  const of = ({ pool }: { pool: PoolRef }): Backend => backendOf(kube, pool);
  const steps = withBugsSorted(withOwnCluster<Activities>(deps.cluster ?? "", {
    ...withSignsOfLife<
      Omit<Activities, keyof (AwaitActivities & NodeUpdateActivities & NodeVersionWaits & UpgradeWaits & RenewalWaits)>
    >({
      readDesired: ({ pool }) => readDesired(deps, pool),
      readPool: (input) => readPool(kube, input, deps),
      readRound: (input) => readRound(deps, input),
      recall: ({ pool }) => recall(kube, pool),
      planRollout: (input) => planRollout(deps, input),
      listDuePools: (input) => listDuePools(deps, input),
      publishDesired: (input) => publishDesired(deps, input, measures),
      ensureCredentialsRenewed: async (input) =>
        of(input).boots ? { news: "Unpublished" } : await renewPublished(deps, input.pool),
      ensureRestRenewed: (input) => renewResting(deps, input),
      ensureRolloutReported: (input) => ensureRolloutReported(kube, input),
      ensureVictimMarked: (input) => ordersOf(kube, input).choose(input),
      ensureVictimUnmarked: ({ letGo = false, ...input }) => of(input).spare({ ...input, release: letGo }),
      ensureMachineAdmitted: (input) => ordersOf(kube, input).admit(input),
      deleteMachine: (input) => deleteMachine(kube, input),
      ensureLastGoodRestored: (input) => of(input).restore(input, deps),
      ensureTemplateStamped: async (input) => await of(input).stamp?.(input),
      ensureMachinesKept: async (input) =>
        await of(input).keep?.(input.pool, (nodes) => strayNode(kube, nodes)) ?? { outcome: "Unneeded" },
      ensureSlotTaken: (input) => ensureSlotTaken(deps, input),
      ensureSlotsKept: (input) => ensureSlotsKept(deps, input),
      ensurePoolCleanedUp: ({ pool }) => ensurePoolCleanedUp(deps, pool),
      ensureNodeAnnotated: (input) => ensureNodeAnnotated(kube, input),
      ensureAutoscalerKept: (input) => ensureAutoscalerKept(kube, input),
      ...versionSteps(deps),
      ...{ ...imageSteps(kube), ...upgradeSteps(deps) },
      deliverNotice: (input) => deliverNotice(deps.notices ?? nowhere, input),
    }),
    awaitReplacementJoined: (input) =>
      measuredJoin(measures, input.pool, (told) => awaitReplacementJoined(kube, input, told)),
    awaitNodeEmptied: (input) => drains.of(input, () => awaitNodeEmptied(kube, input), () => imageOf(input)),
    awaitVictimGone: (input) => measuredWait(measures, ["gone"], () => awaitVictimGone(kube, input)),
    awaitDesiredSettled: (input) => awaitDesiredSettled(deps, input),
    awaitPoolChanged: (input) => awaitPoolChanged(kube, input, deps),
    awaitMachinesJoined: (input) =>
      measuredJoin(measures, input.pool, (told) => awaitMachinesJoined(kube, input, told)),
    awaitNodeDrained: (input) => drains.of(input, () => awaitOwnNodeDrained(kube, input), () => imageOf(input)),
    awaitGates: (input) =>
      measuredWait(
        measures,
        input.machine ? ["gates"] : [],
        () => awaitGates(kube, input, { metrics: deps.metricsAccess }),
      ),
    ...measuredUpdates(measures, updateSteps(kube, deps.giveOrder ?? byHands(deps))),
    awaitNodeVersionChanged: (input) => awaitNodeVersionChanged(kube, input, upgradeReader(deps)),
    ...upgradeWaits(deps),
    awaitMachineGone: (input) => measuredWait(measures, ["gone"], () => awaitMachineGone(kube, input)),
    awaitMachineRelieved: (input) => awaitMachineRelieved(kube, input),
  }));
  return withFailuresCounted(measures, steps);
}

/**
 * Returns a function that carries out an order on its node, in a pod of the image `handsImage`. The function throws
 * Refused (HandsMissing) if no image is set.
 */
function byHands({ kube, handsImage: image = "" }: ActivityDeps): GiveOrder {
  return (order) => {
    if (image !== "") return givenOrder({ kube, image }, order);
    const message =
      `Failed to run an order on node "${order.node}": setting hands-image is empty; set it to the image of the pods that run commands on nodes`;
    throw refused("HandsMissing", message);
  };
}

/** Creates the activities for NodeVersions, and for the discovery of scaling groups. */
function versionSteps(deps: ActivityDeps): NodeVersionActivities & DiscoveryActivities {
  const { kube, hasHands } = upgradeReader(deps);
  return {
    ensureGroupsDiscovered: () => discoverScalingGroups(kube, Date.now()),
    surveyNodeVersion: (input) => surveyNodeVersion(kube, input, { hasHands }),
    ensureStageReleased: (input) => ensureStageReleased(kube, input),
    ensureReleaseEnded: (input) => ensureReleaseEnded(kube, input),
    ensureAutoscalersHeld: async ({ object: { name }, until }) => {
      await holdAutoscalers(kube, { holder: name, until });
      await holdRebalancing(kube, { version: name, until });
    },
    ensureAutoscalersLetGo: async ({ object: { name } }) => {
      await letAutoscalersGo(kube, { holder: name });
      await letRebalancingGo(kube, { version: name });
    },
    ensureVersionTold: (input) => ensureVersionTold(kube, input),
  };
}

/** Creates the activities for upgrades of Kubernetes and renewals of certificates, without their waits. */
function upgradeSteps(deps: ActivityDeps): UpgradeActivities & RenewalActivities {
  const { kube } = deps;
  return {
    surveyUpgrade: (input) => surveyUpgrade(upgradeReader(deps), input),
    checkUpgrade: (input) => checkUpgrade(kube, input),
    ensureControlPlaneAnnounced: (input) => ensureControlPlaneAnnounced(kube, input),
    ensureControlPlaneUncordoned: (input) => ensureControlPlaneUncordoned(kube, input),
    ensureUpgradeEnded: (input) => ensureUpgradeEnded(kube, input),
    ensureUpgradeReported: (input) => ensureUpgradeReported(kube, input),
    surveyRenewal: (input) => surveyRenewal(upgradeReader(deps), input),
    ensureCertificatesRead: (input) => ensureCertificatesRead(kube, input),
    ensureRenewalReported: (input) => ensureRenewalReported(kube, input),
  };
}

/** Creates the waits of upgrades of Kubernetes and renewals of certificates. */
function upgradeWaits(deps: ActivityDeps): UpgradeWaits & RenewalWaits {
  const { kube, handsImage: image = "" } = deps;
  return {
    awaitUpgradeOrdered: (input) => awaitUpgradeOrdered({ kube, image }, input),
    awaitControlPlaneHealthy: (input) => awaitControlPlaneHealthy(kube, input),
    awaitRenewalOrdered: (input) => awaitRenewalOrdered({ kube, image }, input),
    awaitCertificatesRenewed: (input) => awaitCertificatesRenewed(kube, input),
    awaitUpgradeChanged: (input) => awaitUpgradeChanged(upgradeReader(deps), input),
  };
}

function upgradeReader({ kube, profileNamespace, handsImage = "" }: ActivityDeps): UpgradeReader {
  return { kube, profileNamespace, hasHands: handsImagePattern.test(handsImage) };
}

/** Creates the activities for images of operating systems. */
function imageSteps(kube: Kube): ImageActivities {
  return {
    resolveImage: (input) => resolveImage(kube, input),
    verifyImage: (input) => verifyImage(kube, input, Date.now()),
    ensureImageTold: (input) => ensureImageTold(kube, input, Date.now()),
  };
}
