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
import { attempted, endCancelled, lookMs, waitAfterFailure } from "./kubernetes/after_failure.ts";
import { awaitingReady, nextRenewalStep, type RenewalStep } from "./kubernetes/next_renewal_step.ts";
import { renewControlPlane } from "./kubernetes/renew_control_plane.ts";
import { failedRenewal, holdRenewal, renewalHaltIn } from "./kubernetes/renewal_halts.ts";
import { giveBackSlot, renewSlot, type SlotWork } from "./kubernetes/upgrade_control_plane.ts";
import { type HeldUpgrade, isHeld } from "./kubernetes/upgrade_halts.ts";
import { act } from "./kubernetes/upgrade_proxies.ts";
import { planesText } from "./kubernetes/upgrade_refusal.ts";

type Present = Extract<RenewalSurvey, { state: "Present" }>;

/** Minimum milliseconds of a wait for the next survey. */
const restMs = 300_000;
/**
 * Milliseconds until the slot that the run took for a control plane expires, unless the run renews the slot; longer
 * than an order to a node may take.
 */
const slotMs = 7_200_000;

/**
 * Surveys and renews until no certificate expires soon; the workflow ID is `renew-certificates/<name>`. `unfinished`
 * and `halt` are the fields of those names in `Run`, as the previous run of the chain left them.
 */
export async function renewCertificates(
  object: ClusterObject,
  unfinished = "",
  halt: HeldUpgrade | null = null,
): Promise<NodeVersionOutcome> {
  const run = beginRun(object, { unfinished, halt });
  setHandler(nodeVersionChanged, () => void (run.isChanged = true));
  try {
    return await untilRenewed(run);
  } catch (error) {
    if (isCancellation(error)) await CancellationScope.nonCancellable(() => leave(run));
    throw error;
  }
}

/**
 * The memory of one run; the next run gets only `unfinished` and `halt`, because without `halt` it would repeat a
 * refused order.
 */
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
  /** Why the renewal waits, and until when; null if it does not wait. */
  halt: HeldUpgrade | null;
  /** The control plane whose renewal was under way in the last survey; null for none. */
  underWay: RenewalPlane | null;
  /** The uid of the control plane whose renewal just ended without a failure; "" for none. */
  ended: string;
  /**
   * The uid of the control plane whose renewal is under way, although the run gave its slot back because etcd is
   * inconclusive or the machine may be lost; "" for none.
   */
  unfinished: string;
}

function beginRun(object: ClusterObject, kept: Pick<Run, "unfinished" | "halt">): Run {
  const memory = { slotSince: null, mayHaveSlot: true, renewAt: 0, isOnlyHeld: false };
  const slot = { holder: holderOfRenewal(object), lastsMs: slotMs, memory };
  return { object, ...slot, isChanged: false, reported: "", underWay: null, ended: "", ...kept };
}

async function untilRenewed(run: Run): Promise<NodeVersionOutcome> {
  for (;;) {
    // A signal may mean that the obstacle is gone, so the next attempt begins now and not at its scheduled time.
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
      const halt = run.halt ? [run.halt] as const : [];
      return await continueAsNew<typeof renewCertificates>(run.object, run.unfinished, ...halt);
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
 * person changes something. Also returns Wait for a control plane whose slot was given back until it is Ready, because
 * another attempt would take the slot from the repair of a lost machine.
 */
function nextOf(run: Run, survey: Present): RenewalStep {
  const halt = renewalHaltIn(survey, run.halt);
  run.halt = halt;
  const next = nextRenewalStep(survey);
  if (next.step !== "Renew") return next;
  if (halt && isHeld(halt, Date.now())) return { step: "Wait", standing: halt.standing };
  const { controlPlane } = next;
  const hasSlot = run.underWay?.uid === controlPlane.uid;
  return hasSlot || controlPlane.isReady ? next : awaitingReady([controlPlane], controlPlane);
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
 * Renews the slot of the control plane under way. Without this slot, the run that rolls the group of the control plane
 * could replace its machine. A machine that is not Ready after a failed attempt may be lost for good, so its slot is
 * given back for a repair, and its renewal remains under way.
 */
async function renewOwnSlot(run: Run): Promise<void> {
  const { underWay, memory, halt } = run;
  if (!underWay || !memory.mayHaveSlot) return;
  const isFailed = halt !== null && halt.again !== "Soon";
  if (!isFailed || underWay.isReady) return await renewSlot({ ...run, controlPlane: underWay });
  run.unfinished = underWay.uid;
  await giveBackSlot(run);
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

/**
 * Waits until the NodeVersion changes or the next survey is due: when a halt ends, but after at least `restMs` and at
 * most `lookMs`.
 */
async function rest(run: Run): Promise<void> {
  const left = (run.halt?.until ?? Infinity) - Date.now();
  await condition(() => run.isChanged, Math.min(lookMs, Math.max(restMs, left)));
}

function gone({ object }: Run): NodeVersionOutcome {
  return { outcome: "Gone", says: `NodeVersion "${object.name}" was deleted` };
}

/** Reports a cancellation, and gives the slot back, unless an order may be under way: then the slot ends by itself. */
async function leave(run: Run): Promise<void> {
  const read = await attempted(readSurvey(run.object));
  if ("failed" in read) {
    const keepsSlot = !run.memory.isOnlyHeld;
    return await end(run, { keepsSlot, state: `cannot read which control planes are half done: ${read.failed}` });
  }
  const survey = read.result;
  if (survey.state === "Gone") return await giveBackSlot(run);
  const underWay = survey.controlPlanes.filter((each) => each.isUnderWay);
  const keepsSlot = underWay.length > 0 && !run.memory.isOnlyHeld;
  await end(run, { keepsSlot, state: keepsSlot ? restarting(underWay) : withoutSlot(run, survey) });
}

function restarting(planes: RenewalPlane[]): string {
  return `${planesText(planes)} may still restart ${planes.length === 1 ? "its" : "their"} static pods`;
}

function withoutSlot({ unfinished }: Run, { controlPlanes }: Present): string {
  const half = controlPlanes.filter(({ uid }) => uid === unfinished);
  if (half.length === 0) return "no control plane is half done";
  return `${planesText(half)} is half done: some of its static pods may still use the previous certificates`;
}

async function end(run: Run, { keepsSlot, state }: { keepsSlot: boolean; state: string }): Promise<void> {
  const message = `The renewal of certificates was cancelled: ${state}`;
  await endCancelled({ reason: "RenewalCancelled", message }, {
    keepsSlot,
    giveBackSlot: () => giveBackSlot(run),
    report: (standing) => report(run, standing),
  });
}
