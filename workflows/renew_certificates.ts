/**
 * Renews the certificates of a NodeVersion's control planes with kubeadm when a certificate of their API server or etcd
 * expires soon:
 * survey → one control plane after the other → survey until none expires soon.
 * Each step follows from the survey alone, so a new run continues where an interrupted run stopped. Invariants: the
 * renewal of another control plane does not begin while one is under way or after one failed, and a control plane that
 * may be out of service keeps its slot. A cancellation leaves the control plane under way as it is, because its node
 * completes the order by itself.
 */
import {
  CancellationScope,
  condition,
  continueAsNew,
  isCancellation,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from "@temporalio/workflow";
import { nodeVersionChanged } from "./commands/messages.ts";
import { holderOfRenewal } from "./commands/start_options.ts";
import type {
  ClusterObject,
  NodeVersionOutcome,
  PoolRef,
  RenewalPlane,
  RenewalSurvey,
  UpgradeStanding,
} from "./contracts/mod.ts";
import { lookMs, waitAfterFailure } from "./kubernetes/after_failure.ts";
import { nextRenewalStep, type RenewalStep } from "./kubernetes/next_renewal_step.ts";
import { renewControlPlane } from "./kubernetes/renew_control_plane.ts";
import { failedRenewal, holdRenewal, renewalHaltIn } from "./kubernetes/renewal_halts.ts";
import { giveBackSlot, renewSlot, type SlotWork } from "./kubernetes/upgrade_control_plane.ts";
import { type HeldUpgrade, isHeld } from "./kubernetes/upgrade_halts.ts";
import { act } from "./kubernetes/upgrade_proxies.ts";
import { planesText } from "./kubernetes/upgrade_refusal.ts";

type Present = Extract<RenewalSurvey, { state: "Present" }>;

/** Minimum milliseconds of a wait for the next survey. */
const restMs = 300_000;
/** Milliseconds until the slot of a control plane ends unless it is renewed; longer than an order may take. */
const slotMs = 7_200_000;

/**
 * Surveys and renews until no certificate expires soon; the workflow ID is `renew-certificates/<name>`. `unfinished` is
 * the field of that name in `Run`, as the previous run of the chain left it.
 */
export async function renewCertificates(object: ClusterObject, unfinished = ""): Promise<NodeVersionOutcome> {
  const run = beginRun(object, unfinished);
  setHandler(nodeVersionChanged, () => void (run.isChanged = true));
  try {
    return await untilRenewed(run);
  } catch (error) {
    if (isCancellation(error)) await CancellationScope.nonCancellable(() => leave(run));
    throw error;
  }
}

/** The memory of one run; the next run gets only `unfinished`. */
interface Run {
  readonly object: ClusterObject;
  readonly holder: PoolRef;
  readonly lastsMs: number;
  readonly memory: SlotWork["memory"];
  isChanged: boolean;
  /**
   * Reason and message of the last report, which the NodeVersion shows; "" before the first report and after a failure.
   */
  reported: string;
  /** Why the renewal waits, and until when; null for none. */
  halt: HeldUpgrade | null;
  /** The control plane under way in the last survey. */
  underWay: RenewalPlane | null;
  /** The uid of the control plane whose renewal just ended without a failure; "" for none. */
  ended: string;
  /**
   * The uid of the control plane whose renewal is under way, but which gave its slot back because etcd is inconclusive;
   * "" for none.
   */
  unfinished: string;
}

function beginRun(object: ClusterObject, unfinished: string): Run {
  const memory = { slotSince: null, mayHaveSlot: true, renewAt: 0, isOnlyHeld: false };
  const slot = { holder: holderOfRenewal(object), lastsMs: slotMs, memory };
  return { object, ...slot, isChanged: false, reported: "", halt: null, underWay: null, ended: "", unfinished };
}

async function untilRenewed(run: Run): Promise<NodeVersionOutcome> {
  for (;;) {
    // The signal may mean that the run need not wait any more, so the next attempt begins now and not at its scheduled
    // time.
    if (run.isChanged && run.halt?.again === "Soon") run.halt.until = Date.now();
    run.isChanged = false;
    try {
      const outcome = await reconcile(run);
      // No await may come between this check and the return: a signal that arrives later then starts a new run, so none
      // is lost.
      if (outcome && (outcome.outcome === "Gone" || !run.isChanged)) return outcome;
    } catch (error) {
      await waitAfterFailure(error, {
        isChanged: () => run.isChanged,
        report: (standing) => report(run, standing),
        renewOwnSlot: () => renewOwnSlot(run),
      });
      run.reported = "";
    }
    if (workflowInfo().continueAsNewSuggested) {
      return await continueAsNew<typeof renewCertificates>(run.object, run.unfinished);
    }
  }
}

/** Takes the next step; returns an outcome when nothing is left to do. */
async function reconcile(run: Run): Promise<NodeVersionOutcome | undefined> {
  const seen = await readSurvey(run.object);
  const underWay = seen.state === "Present" ? seen.controlPlanes.find((each) => each.isUnderWay) : undefined;
  run.underWay = underWay ?? null;
  if (run.memory.mayHaveSlot && !underWay) await giveBackSlot(run);
  if (seen.state === "Gone") return gone(run);
  const survey = withUnfinished(run, seen);
  const next = nextOf(run, survey);
  if (isNews(run, survey, next)) await report(run, next.standing);
  if (next.step === "Done") return { outcome: "UpToDate", says: next.standing.message };
  if (next.step === "Renew") return void await renew(run, survey, next.controlPlane);
  await renewOwnSlot(run);
  await rest(run);
  return undefined;
}

function withUnfinished({ unfinished }: Run, survey: Present): Present {
  const controlPlanes = survey.controlPlanes.map((each) =>
    each.uid === unfinished ? { ...each, isUnderWay: true } : each
  );
  return { ...survey, controlPlanes };
}

/**
 * Returns the next step. While a halt lasts, returns Wait instead of an attempt: a halt ends at its time, or when a
 * person changes something.
 */
function nextOf(run: Run, survey: Present): RenewalStep {
  const halt = renewalHaltIn(survey, run.halt);
  run.halt = halt;
  const next = nextRenewalStep(survey);
  if (next.step === "Renew" && halt && isHeld(halt, Date.now())) return { step: "Wait", standing: halt.standing };
  return next;
}

/**
 * Returns whether to report the step now. Another attempt after a halt is reported only with its result, so that the
 * status does not alternate. A run without anything to do reports only if an earlier report has to be replaced.
 */
function isNews({ halt, reported }: Run, { told }: Present, { step }: RenewalStep): boolean {
  return step === "Done" ? reported !== "" || told !== "" : step !== "Renew" || halt === null;
}

/**
 * Renews the certificates of one control plane. If the last renewal was of the same control plane and had no effect,
 * records a failure instead of repeating the renewal at once.
 */
async function renew(run: Run, survey: Present, controlPlane: RenewalPlane): Promise<void> {
  const { node, uid } = controlPlane;
  const { object, holder, lastsMs, memory } = run;
  const isEnded = run.ended === uid;
  run.ended = "";
  const end = isEnded
    ? failedRenewal(node, "the renewal ended, but a certificate of the node's API server or etcd still expires soon")
    : await renewControlPlane({
      ...{ object, holder, lastsMs, memory, survey, controlPlane },
      keepUnfinished: () => run.unfinished = uid,
    });
  if (!end) [run.ended, run.unfinished] = [uid, ""];
  const isHalt = end !== undefined && end !== "Replan";
  run.halt = isHalt ? holdRenewal(end, { survey, uid, previous: run.halt, now: Date.now() }) : null;
}

/**
 * Renews the slot of the control plane under way, because without a slot the run of its group could replace the
 * machine.
 */
async function renewOwnSlot(run: Run): Promise<void> {
  const { underWay, memory } = run;
  if (underWay && memory.mayHaveSlot) await renewSlot({ ...run, controlPlane: underWay });
}

function readSurvey(object: ClusterObject): Promise<RenewalSurvey> {
  return act.surveyRenewal.executeWithOptions({ summary: "Survey the certificates of control planes" }, [{ object }]);
}

async function report(run: Run, standing: UpgradeStanding): Promise<void> {
  const text = `${standing.reason} ${standing.message}`;
  if (run.reported === text) return;
  setCurrentDetails(standing.message);
  const summary = standing.message.slice(0, 200);
  await act.ensureRenewalReported.executeWithOptions({ summary }, [{ object: run.object, standing }]);
  run.reported = text;
}

/** Waits until the NodeVersion changes, a halt ends, or the next survey is due. */
async function rest(run: Run): Promise<void> {
  const left = (run.halt?.until ?? Infinity) - Date.now();
  await condition(() => run.isChanged, Math.min(lookMs, Math.max(restMs, left)));
}

function gone({ object }: Run): NodeVersionOutcome {
  return { outcome: "Gone", says: `NodeVersion "${object.name}" was deleted` };
}

/** Reports a cancellation, and gives the slot back, unless an order may be under way: then the slot ends by itself. */
async function leave(run: Run): Promise<void> {
  const survey = await readSurvey(run.object);
  const underWay = survey.state === "Present" ? survey.controlPlanes.filter((each) => each.isUnderWay) : [];
  const isLeft = underWay.length > 0 && !run.memory.isOnlyHeld;
  if (!isLeft) await giveBackSlot(run);
  if (survey.state === "Gone") return;
  const state = isLeft
    ? `${planesText(underWay)} may still restart ${underWay.length === 1 ? "its" : "their"} static pods`
    : "no control plane is half done";
  await report(run, { reason: "RenewalCancelled", message: `The renewal of certificates was cancelled: ${state}` });
}
