/**
 * Upgrades the control planes of a NodeVersion to its Kubernetes version with kubeadm, in place and one at a time:
 * survey → check → approval → one control plane after the other → survey until all run the version. Each step follows
 * from the survey alone, so a new run continues where an interrupted run stopped. Before a person approves the version,
 * nothing on a node changes except for files of kubeadm's check. The upgrade of another control plane does not begin
 * while one is under way, and a control plane whose upgrade failed keeps its cordon and its slot. A cancellation leaves
 * the control plane under way as it is, and the next run continues there: meanwhile the other control planes serve, and
 * the node completes an order that it has already received.
 */
import {
  CancellationScope,
  continueAsNew,
  isCancellation,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from "@temporalio/workflow";
import { nodeVersionChanged } from "./commands/messages.ts";
import type {
  ClusterObject,
  ControlPlaneState,
  NodeVersionOutcome,
  UpgradeCheck,
  UpgradeFinding,
  UpgradeStanding,
  UpgradeSurvey,
} from "./contracts/mod.ts";
import { attempted, endCancelled, lookMs, waitAfterFailure } from "./kubernetes/after_failure.ts";
import { giveOrder, type OnControlPlane } from "./kubernetes/give_order.ts";
import { hasBegun, nextUpgradeStep, type UpgradeStep } from "./kubernetes/next_upgrade_step.ts";
import {
  announce,
  finishControlPlane,
  giveBackSlot,
  release,
  renewSlot,
  upgradeControlPlane,
  type UpgradeMemory,
  type UpgradeWork,
} from "./kubernetes/upgrade_control_plane.ts";
import { failed, haltIn, type HeldUpgrade, holdUpgrade, isHeld, type UpgradeHalt } from "./kubernetes/upgrade_halts.ts";
import { act, waits } from "./kubernetes/upgrade_proxies.ts";
import { unlessOver } from "./machine/work.ts";
import { upgradeDetails } from "./status/upgrade_page.ts";

type Present = Extract<UpgradeSurvey, { state: "Present" }>;

/** Milliseconds for which a check without findings is valid; a check with findings is repeated at the next survey. */
const checkedMs = 3_600_000;

/**
 * Surveys and upgrades until all control planes run the version; the workflow ID is `upgrade-kubernetes/<name>`. `halt`
 * is the field of that name in `Run`, as the previous run of the chain left it.
 */
export async function upgradeKubernetes(
  object: ClusterObject,
  halt: HeldUpgrade | null = null,
): Promise<NodeVersionOutcome> {
  const run = beginRun(object, halt);
  setHandler(nodeVersionChanged, () => void (run.isChanged = true));
  try {
    return await untilUpgraded(run);
  } catch (error) {
    if (isCancellation(error)) await CancellationScope.nonCancellable(() => leave(run));
    throw error;
  }
}

/** The memory of one run; the next run gets only `halt`, because otherwise it would repeat a refused order. */
interface Run {
  readonly object: ClusterObject;
  readonly memory: UpgradeMemory;
  isChanged: boolean;
  /** The last survey, for the page in the web UI. */
  seen: Present | null;
  /** The status that the NodeVersion has, as `textOf` writes it. */
  reported: string;
  /** The findings of the last check of the cluster; null before the first check. */
  checked: Checked | null;
  /** The findings of the last `kubeadm upgrade plan`; null before the first plan. */
  planned: Checked | null;
  /** Why the upgrade waits, and until when; null if it does not wait. */
  halt: HeldUpgrade | null;
  /** The control plane whose upgrade was under way in the last survey; null for none. */
  underWay: ControlPlaneState | null;
  /** The upgrade that just ended without a failure, as `nameOf` names it; "" for none. */
  ended: string;
}

/** Findings, the state that was checked, and when (epoch ms). */
interface Checked {
  digest: string;
  findings: UpgradeFinding[];
  state: string;
  at: number;
}

function beginRun(object: ClusterObject, halt: HeldUpgrade | null): Run {
  const memory = { fetched: "", slotSince: null, mayHaveSlot: true, renewAt: 0, isOnlyHeld: false };
  const nothing = { seen: null, checked: null, planned: null, underWay: null };
  return { object, memory, isChanged: false, reported: "", ended: "", halt, ...nothing };
}

async function untilUpgraded(run: Run): Promise<NodeVersionOutcome> {
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
      return await continueAsNew<typeof upgradeKubernetes>(run.object, ...(run.halt ? [run.halt] as const : []));
    }
  }
}

/** Takes the next step; returns an outcome when nothing is left to do. */
async function reconcile(run: Run): Promise<NodeVersionOutcome | undefined> {
  const { object, memory } = run;
  const survey = await readSurvey(object);
  const underWay = survey.state === "Present" ? survey.controlPlanes.find((each) => each.isUnderWay) : undefined;
  run.underWay = underWay ?? null;
  if (survey.state === "Present") run.seen = survey;
  if (memory.mayHaveSlot && !underWay) await giveBackSlot(run);
  if (survey.state === "Gone") return await endGone(object);
  const next = nextOf(run, survey);
  if (!isRepeated(run, survey, next)) await report(run, next.standing);
  if (next.step === "Done") return { outcome: "UpToDate", says: next.standing.message };
  if (await take(run, survey, next) === "Continue") return undefined;
  await renewOwnSlot(run);
  await rest(run, survey);
  return undefined;
}

/**
 * Renews the slot of the control plane under way, because without a slot the run of its group could repair or replace
 * the machine. A machine that is not Ready after a failed attempt may be lost for good, so its slot is given back for a
 * repair; the machine stays cordoned, and the upgrade of no other control plane begins.
 */
async function renewOwnSlot(run: Run): Promise<void> {
  const { object, memory, underWay, halt } = run;
  if (!underWay || !memory.mayHaveSlot) return;
  const isFailed = halt !== null && halt.again !== "Soon";
  if (isFailed && !underWay.isReady) return await giveBackSlot(run);
  await renewSlot({ object, memory, controlPlane: underWay });
}

/**
 * Returns the next step. While a halt lasts, returns Wait: a halt ends at its time, or when a person changes something.
 */
function nextOf(run: Run, survey: Present): UpgradeStep {
  const halt = haltIn(survey, run.halt);
  run.halt = halt;
  if (halt && isHeld(halt, Date.now())) return { step: "Wait", standing: halt.standing };
  return nextUpgradeStep(survey, validCheck(run, survey));
}

/**
 * Returns whether the step repeats an attempt or a check. A repeated step is reported only with its result, so that the
 * status does not alternate.
 */
function isRepeated({ halt, checked }: Run, { digest }: Present, { step }: UpgradeStep): boolean {
  return step === "Upgrade" && halt !== null || step === "Check" && checked?.digest === digest;
}

/** Carries out the step; returns "Rest" if the run has nothing to do but wait. */
async function take(run: Run, survey: Present, next: UpgradeStep): Promise<"Rest" | "Continue"> {
  if (!("controlPlane" in next)) return "Rest";
  const { object, memory } = run;
  const { controlPlane } = next;
  const on: OnControlPlane = { object, survey, controlPlane };
  if (next.step === "Check") await check(run, on);
  if (next.step === "Release") await release({ ...on, memory });
  if (next.step === "Announce") await announce(on);
  const { standing } = next;
  const work = { ...on, memory, standing, report: (standing: UpgradeStanding) => report(run, standing) };
  if (next.step === "Finish") hold(run, on, await finishControlPlane({ ...work, verb: "Node" }));
  if (next.step === "Upgrade") await upgrade(run, { ...work, verb: next.verb });
  return "Continue";
}

/**
 * Upgrades one control plane. If the last upgrade was the same and had no effect, records a failure instead of
 * repeating the upgrade at once.
 */
async function upgrade(run: Run, work: UpgradeWork): Promise<void> {
  const { node, kubelet, components } = work.controlPlane;
  const name = nameOf(work);
  const isEnded = run.ended === name;
  run.ended = "";
  if (isEnded) {
    const state =
      `the upgrade ended, but the kubelet runs "${kubelet}", the components run "${components}", and kubeadm ` +
      `recorded version "${work.survey.cluster}" for the cluster`;
    return hold(run, work, failed(node, state));
  }
  const end = await upgradeControlPlane(work);
  if (!end) run.ended = name;
  hold(run, work, end);
}

function nameOf({ controlPlane: { uid }, survey: { digest } }: UpgradeWork): string {
  return `${uid} ${digest}`;
}

function hold(
  run: Run,
  { survey, controlPlane: { uid } }: OnControlPlane,
  end: UpgradeHalt | "Replan" | undefined,
): void {
  const isHalt = end !== undefined && end !== "Replan";
  run.halt = isHalt ? holdUpgrade(end, { survey, uid, previous: run.halt, now: Date.now() }) : null;
}

// The check before the first control plane.

/** Checks the cluster, and runs `kubeadm upgrade plan` on the control plane that would be upgraded first. */
async function check(run: Run, on: OnControlPlane): Promise<void> {
  const { object, survey } = on;
  const summary = "Check removed APIs, PodDisruptionBudgets, etcd and nodes";
  const { findings } = await act.checkUpgrade.executeWithOptions({ summary }, [{ object, digest: survey.digest }]);
  run.checked = checkedNow(survey, findings);
  if (!isValid(run.planned, survey)) run.planned = checkedNow(survey, await planFindings(on));
}

async function planFindings(on: OnControlPlane): Promise<UpgradeFinding[]> {
  const plan = await giveOrder(on, "Plan");
  if (plan.outcome === "Done") return [];
  const [stops, reason] = plan.outcome === "Refused" ? [true, plan.reason] : [false, "no result in time"];
  const message = `the plan of kubeadm on control plane "${on.controlPlane.node}" failed: ${reason}: ${plan.message}`;
  return [{ kind: "KubeadmRefuses", stops, message }];
}

function validCheck({ checked, planned }: Run, survey: Present): UpgradeCheck | null {
  if (!isValid(checked, survey) || !isValid(planned, survey)) return null;
  return { digest: survey.digest, findings: [...checked.findings, ...planned.findings] };
}

/**
 * Returns whether the check is still valid: the state is the checked one, and the check is recent. A check with
 * findings is valid for a shorter time, because their causes can be gone.
 */
function isValid(checked: Checked | null, survey: Present): checked is Checked {
  if (!checked || checked.state !== stateOf(survey)) return false;
  return Date.now() - checked.at < (checked.findings.length === 0 ? checkedMs : lookMs);
}

function checkedNow(survey: Present, findings: UpgradeFinding[]): Checked {
  return { digest: survey.digest, findings, state: stateOf(survey), at: Date.now() };
}

/**
 * Returns the part of the survey on which a check depends. It excludes values that change constantly, such as the
 * number of nodes, because each repeated check runs the plan of kubeadm on a node.
 */
function stateOf({ digest, approved, retry, cluster, controlPlanes }: Present): string {
  const planes = controlPlanes.map(({ uid, kubelet, components }) => [uid, kubelet, components]);
  return JSON.stringify([digest, approved, retry, cluster, planes]);
}

// Reads, reports and waits.

function readSurvey(object: ClusterObject): Promise<UpgradeSurvey> {
  return act.surveyUpgrade.executeWithOptions({ summary: "Survey the control planes" }, [{ object }]);
}

async function report(run: Run, standing: UpgradeStanding): Promise<void> {
  const text = textOf(standing);
  setCurrentDetails(upgradeDetails(run.object, standing, run.seen));
  if (run.reported === text) return;
  const summary = standing.message.slice(0, 200);
  await act.ensureUpgradeReported.executeWithOptions({ summary }, [{ object: run.object, standing }]);
  run.reported = text;
}

function textOf({ reason, message }: UpgradeStanding): string {
  return `${reason} ${message}`;
}

/** Waits until the NodeVersion or a control plane changes, a halt ends, or the next survey is due. */
async function rest(run: Run, { fingerprint }: Present): Promise<void> {
  const { object, halt } = run;
  const now = Date.now();
  const look = now + lookMs;
  // After its time, a halt can remain while the run waits for something else; a time in the past would end every wait
  // at once.
  const until = halt && isHeld(halt, now) ? Math.min(look, halt.until ?? look) : look;
  const summary = "Wait for the NodeVersion or a control plane to change";
  const input = { object, fingerprint, until };
  await unlessOver(() => run.isChanged, () => waits().awaitUpgradeChanged.executeWithOptions({ summary }, [input]));
}

async function endGone(object: ClusterObject): Promise<NodeVersionOutcome> {
  await act.ensureUpgradeEnded.executeWithOptions({ summary: "End every cordon of the upgrade" }, [{ object }]);
  return { outcome: "Gone", says: `NodeVersion "${object.name}" was deleted` };
}

/** Reports a cancellation, and gives the slot back unless a control plane may be cordoned. */
async function leave(run: Run): Promise<void> {
  const read = await attempted(readSurvey(run.object));
  if ("failed" in read) {
    const keepsSlot = !run.memory.isOnlyHeld;
    return await end(run, { keepsSlot, state: `cannot read which control planes are half done: ${read.failed}` });
  }
  const survey = read.result;
  if (survey.state === "Gone") {
    await giveBackSlot(run);
    return void await endGone(run.object);
  }
  const isLeft = (each: ControlPlaneState): boolean => hasBegun(each) && !run.memory.isOnlyHeld;
  const underWay = survey.controlPlanes.filter(isLeft).map(({ node }) => `"${node}"`);
  const state = underWay.length === 0
    ? "no control plane is half done"
    : `control plane ${underWay.join(", ")} stays cordoned until the next run completes its upgrade`;
  await end(run, { keepsSlot: underWay.length > 0, state });
}

async function end(run: Run, { keepsSlot, state }: { keepsSlot: boolean; state: string }): Promise<void> {
  const todo = "to continue, set annotation ostler.dev/retry-kubernetes on the NodeVersion to a new value";
  const message = `The upgrade of Kubernetes was cancelled: ${state}; ${todo}`;
  await endCancelled({ reason: "UpgradeCancelled", message }, {
    keepsSlot,
    giveBackSlot: () => giveBackSlot(run),
    report: (standing) => report(run, standing),
  });
}
