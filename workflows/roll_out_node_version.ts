/**
 * Brings all nodes of a NodeVersion's scaling groups to what it asks for:
 *   look → hold the autoscaler → release stage after stage → look again until nothing is left → end the release → let the
 *   autoscaler go.
 * Groups are rolled by runs of their own, which go on without this one: what is released stands on the NodeVersion.
 * Invariants: nothing is released while an autoscaler runs or a stage before is not done; what was turned off is turned on
 * again, by this run, or by whoever looks once its hold is over.
 */
import {
  CancellationScope,
  condition,
  continueAsNew,
  isCancellation,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from "@temporalio/workflow";
import type { ActivityInterfaceFor } from "@temporalio/workflow";
import { nodeVersionChanged } from "./commands/messages.ts";
import { waitsQueueOf } from "./commands/start_options.ts";
import type {
  ClusterObject,
  NodeVersionActivities,
  NodeVersionOutcome,
  NodeVersionWaits,
  VersionStanding,
  VersionSurvey,
} from "./contracts/mod.ts";
import { type NextStep, nextStep } from "./node_version/next_step.ts";

// API server and cloud may be away for an hour.
const patient = {
  heartbeatTimeout: "10s",
  retry: { initialInterval: "200ms", backoffCoefficient: 2, maximumInterval: "30s", maximumAttempts: 300 },
} as const;
const act = proxyActivities<NodeVersionActivities>({
  ...patient,
  startToCloseTimeout: "2m",
  scheduleToCloseTimeout: "3h",
});
const waits = (): ActivityInterfaceFor<NodeVersionWaits> =>
  proxyActivities<NodeVersionWaits>({
    ...patient,
    startToCloseTimeout: "1h",
    taskQueue: waitsQueueOf(workflowInfo().taskQueue),
  });

/** Milliseconds after which it is looked again, whatever happens; and for which a hold stands from each look on: API server or
 * cloud may be away for an hour, and no look is had meanwhile. */
const lookMs = 300_000;
const holdMs = 5_400_000;

/** Looks until all is as asked for; its id is `node-version/<name>`. */
export async function rollOutNodeVersion(object: ClusterObject): Promise<NodeVersionOutcome> {
  const news = { isChanged: false };
  setHandler(nodeVersionChanged, () => void (news.isChanged = true));
  try {
    return await untilUpToDate(object, news);
  } catch (error) {
    // Cancelled by a person: machines stay as their groups' runs have them, and the autoscaler is what it was.
    if (isCancellation(error)) await CancellationScope.nonCancellable(() => letGo(object));
    throw error;
  }
}

interface News {
  isChanged: boolean;
}

async function untilUpToDate(object: ClusterObject, news: News): Promise<NodeVersionOutcome> {
  let told = "";
  for (;;) {
    news.isChanged = false;
    const survey = await look(object);
    if (survey.state === "Gone") return await endGone(object);
    const next = nextStep(survey);
    if (told !== wordsOf(next.standing)) await tell(object, next.standing);
    told = wordsOf(next.standing);
    if (survey.isHeld && next.step !== "LetGo") await hold(object);
    await take(object, next, survey.digest);
    // No await between this look and the return: a late signal then starts a new run.
    if (next.step === "Done" && !news.isChanged) return { outcome: "UpToDate", says: next.standing.message };
    if (next.step === "Wait") await rest(object, survey.fingerprint, news);
    if (workflowInfo().continueAsNewSuggested) return await continueAsNew<typeof rollOutNodeVersion>(object);
  }
}

function look(object: ClusterObject): Promise<VersionSurvey> {
  return act.surveyNodeVersion.executeWithOptions({ summary: "Survey the groups and their nodes" }, [{ object }]);
}

async function take(object: ClusterObject, next: NextStep, digest: string): Promise<void> {
  if (next.step === "Hold") await hold(object);
  if (next.step === "LetGo") await letGo(object);
  if (next.step === "EndRelease") await endRelease(object);
  if (next.step !== "Release") return;
  const { stage } = next;
  await act.ensureStageReleased.executeWithOptions({ summary: `Release stage ${stage}` }, [{ object, stage, digest }]);
}

async function endRelease(object: ClusterObject): Promise<void> {
  await act.ensureReleaseEnded.executeWithOptions({ summary: "End the release" }, [{ object }]);
}

async function hold(object: ClusterObject): Promise<void> {
  const until = Date.now() + holdMs;
  await act.ensureAutoscalersHeld.executeWithOptions({ summary: "Hold the autoscaler" }, [{ object, until }]);
}

async function letGo(object: ClusterObject): Promise<void> {
  await act.ensureAutoscalersLetGo.executeWithOptions({ summary: "End the hold of the autoscaler" }, [{ object }]);
}

async function tell(object: ClusterObject, standing: VersionStanding): Promise<void> {
  setCurrentDetails(standing.message);
  await act.ensureVersionTold.executeWithOptions({ summary: standing.message.slice(0, 200) }, [{ object, standing }]);
}

async function rest(object: ClusterObject, fingerprint: string, news: News): Promise<void> {
  const until = Date.now() + lookMs;
  const scope = new CancellationScope();
  const summary = "Wait for a group or a node to change";
  const change = scope.run(() =>
    waits().awaitNodeVersionChanged.executeWithOptions({ summary }, [{ object, fingerprint, until }])
  );
  const told = scope.run(() => condition(() => news.isChanged));
  try {
    await Promise.race([change, told]);
  } finally {
    scope.cancel();
    await Promise.allSettled([change, told]);
  }
}

async function endGone(object: ClusterObject): Promise<NodeVersionOutcome> {
  await letGo(object);
  return { outcome: "Gone", says: `NodeVersion "${object.name}" was deleted` };
}

function wordsOf({ reason, message }: VersionStanding): string {
  return `${reason} ${message}`;
}
