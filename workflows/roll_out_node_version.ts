/**
 * Brings all nodes of a NodeVersion's scaling groups to the desired version.
 * Steps: survey → upgrade Kubernetes of the control planes → hold the autoscaler → release the stages in order (groups
 * of control planes, then groups of workers) → survey until nothing is left → end the release, then the hold.
 * Groups are rolled, and Kubernetes is upgraded, by runs of their own, which continue without this one; the released
 * stage is stored on the NodeVersion. Invariants: no stage is released while an autoscaler runs or an earlier stage is
 * not done. An autoscaler that was turned off is turned on again by this run, or by the first reconcile of its
 * AutoscalingStrategy after the hold has expired.
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
import { unlessOver } from "./machine/work.ts";
import { type NextStep, nextStep } from "./node_version/next_step.ts";
import { isReportOver } from "./node_version/stage_of.ts";
import { UpgradeRun } from "./node_version/upgrade_run.ts";
import { patient } from "./proxies.ts";
import { troubleOf } from "./state/trouble.ts";

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

/** Maximum milliseconds until the next survey. */
const lookMs = 300_000;
/**
 * Milliseconds for which each survey extends the hold of the autoscaler; longer than an hour, because an outage of the
 * API server or of the cloud can prevent surveys for that long.
 */
const holdMs = 5_400_000;
/** Milliseconds until the next survey after the NodeVersion changed between a survey and its step. */
const mootMs = 1_000;

/** Surveys and rolls until every node runs the desired version; the workflow ID is `node-version/<name>`. */
export async function rollOutNodeVersion(object: ClusterObject): Promise<NodeVersionOutcome> {
  const news = { isChanged: false, upgrade: new UpgradeRun(object) };
  setHandler(nodeVersionChanged, () => {
    news.isChanged = true;
    news.upgrade.isTold = false;
  });
  try {
    return await untilUpToDate(object, news);
  } catch (error) {
    // After a cancellation by a person, the runs of the groups continue with their machines, and the autoscaler returns
    // to its previous state.
    if (isCancellation(error)) await CancellationScope.nonCancellable(() => endHold(object));
    throw error;
  }
}

/** The events since the last survey, and the run of the upgrade. */
interface News {
  /** A signal reported a change. */
  isChanged: boolean;
  /** The run that upgrades Kubernetes; its end requires another survey, like a change of the NodeVersion. */
  readonly upgrade: UpgradeRun;
}

interface Reported {
  /**
   * Reason and message of the last report, which the NodeVersion shows; "" before the first report and after a failure.
   */
  text: string;
}

async function untilUpToDate(object: ClusterObject, news: News): Promise<NodeVersionOutcome> {
  const reported: Reported = { text: "" };
  for (;;) {
    news.isChanged = false;
    news.upgrade.hasEnded = false;
    try {
      const outcome = await reconcile(object, news, reported);
      // No await may come between this check and the return: a signal that arrives later then starts a new run, so none
      // is lost.
      if (outcome && (outcome.outcome === "Gone" || !news.isChanged)) return outcome;
    } catch (error) {
      await waitAfterFailure(object, news, error);
      reported.text = "";
    }
    if (workflowInfo().continueAsNewSuggested) return await continueAsNew<typeof rollOutNodeVersion>(object);
  }
}

/** Takes the next step; returns an outcome when nothing is left to do. */
async function reconcile(
  object: ClusterObject,
  news: News,
  reported: Reported,
): Promise<NodeVersionOutcome | undefined> {
  const survey = await readSurvey(object);
  if (survey.state === "Gone") return await endGone(object, news);
  const next = nextStep(survey);
  if (reported.text !== textOf(next.standing)) await report(object, next.standing);
  reported.text = textOf(next.standing);
  if (survey.isHeld && next.step !== "LetGo") await hold(object);
  news.upgrade.isCancelled = survey.upgrade?.state === "Cancelled";
  // After a person has cancelled the upgrade, an annotation requests another attempt, and no signal reports
  // annotations. So the first survey that finds the request starts the upgrade without the pause that follows an
  // upgrade.
  if (news.upgrade.isCancelled) news.upgrade.isTold = false;
  await take(object, next, survey.digest);
  if (next.step === "Upgrade" || isReportOver(survey)) await news.upgrade.keep();
  if (next.step === "Wait" || next.step === "Upgrade") await rest(object, survey.fingerprint, news);
  return next.step === "Done" ? { outcome: "UpToDate", says: next.standing.message } : undefined;
}

/**
 * Reports a failure and waits for a change or the next survey. If the NodeVersion only changed between survey and step,
 * plans again a moment later without a report.
 */
async function waitAfterFailure(object: ClusterObject, news: News, error: unknown): Promise<void> {
  const trouble = troubleOf(error);
  if (trouble.kind === "rethrow") throw error;
  if (trouble.kind === "replan") return void await condition(() => news.isChanged, mootMs);
  const { message } = trouble;
  const reason = trouble.kind === "halt" ? trouble.reason : "ApiUnavailable";
  await report(object, { ready: "False", reason, message }).catch((failure: unknown) => {
    if (troubleOf(failure).kind === "rethrow") throw failure;
  });
  await condition(() => news.isChanged, lookMs);
}

function readSurvey(object: ClusterObject): Promise<VersionSurvey> {
  return act.surveyNodeVersion.executeWithOptions({ summary: "Survey the groups and their nodes" }, [{ object }]);
}

async function take(object: ClusterObject, next: NextStep, digest: string): Promise<void> {
  if (next.step === "Hold") await hold(object);
  if (next.step === "LetGo") await endHold(object);
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

async function endHold(object: ClusterObject): Promise<void> {
  await act.ensureAutoscalersLetGo.executeWithOptions({ summary: "End the hold of the autoscaler" }, [{ object }]);
}

async function report(object: ClusterObject, standing: VersionStanding): Promise<void> {
  setCurrentDetails(standing.message);
  await act.ensureVersionTold.executeWithOptions({ summary: standing.message.slice(0, 200) }, [{ object, standing }]);
}

async function rest(object: ClusterObject, fingerprint: string, news: News): Promise<void> {
  const until = Date.now() + lookMs;
  const summary = "Wait for a group or a node to change";
  const input = { object, fingerprint, until };
  await unlessOver(
    () => news.isChanged || news.upgrade.hasEnded,
    () => waits().awaitNodeVersionChanged.executeWithOptions({ summary }, [input]),
  );
}

/**
 * Ends the rollout of a deleted NodeVersion: ends the hold of the autoscaler. If a person cancelled the upgrade of
 * Kubernetes, also starts the upgrade once more, because only its run removes a cordon that the cancelled run may have
 * left.
 */
async function endGone(object: ClusterObject, { upgrade }: News): Promise<NodeVersionOutcome> {
  if (upgrade.isCancelled) await upgrade.keep();
  await endHold(object);
  return { outcome: "Gone", says: `NodeVersion "${object.name}" was deleted` };
}

function textOf({ reason, message }: VersionStanding): string {
  return `${reason} ${message}`;
}
