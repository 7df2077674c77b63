/**
 * Renews the certificates of one control plane: take the slot → move etcd leadership away → order the renewal → wait
 * until healthy → read the certificates → give the slot back. Nothing is cordoned or drained, because a drain evicts no
 * static pods, and the kubelet keeps running. Each step does nothing if its result already exists, so an interrupted
 * renewal is repeated from the first step.
 */
import { isCancellation, uuid4 } from "@temporalio/workflow";
import type { Relieved, RenewalPlane, RenewalSurvey, UpgradeOutcome } from "../contracts/mod.ts";
import { poolOfGroup } from "../commands/start_options.ts";
import { awaits, read } from "../proxies.ts";
import { failedRenewal, haltOfRenewal, isUntouched } from "./renewal_halts.ts";
import { giveBackSlot, type SlotWork, takeSlot } from "./upgrade_control_plane.ts";
import { haltOfRules, type UpgradeHalt } from "./upgrade_halts.ts";
import { act, waits } from "./upgrade_proxies.ts";

/** The control plane whose certificates are renewed, and the survey that found it. */
interface RenewalWork extends SlotWork {
  survey: Extract<RenewalSurvey, { state: "Present" }>;
  controlPlane: RenewalPlane;
  /** Records in the run that the renewal of the control plane is under way, although its slot was given back. */
  keepUnfinished: () => void;
}

type End = UpgradeHalt | "Replan" | undefined;

const minute = 60_000;
/**
 * Milliseconds of one attempt to move the leadership of etcd, of an order with all restarts, and until the control
 * plane must be healthy after the order.
 */
const attemptMs = minute;
const orderMs = 40 * minute;
const healthyMs = 15 * minute;

/**
 * Renews the certificates. Returns undefined once the control plane serves with certificates that do not expire soon;
 * otherwise the halt, or Replan if nothing has to be renewed any more.
 */
export async function renewControlPlane(work: RenewalWork): Promise<End> {
  return await checkDue(work) ??
    await checkRules(work) ??
    await takeOut(work) ??
    await order(work) ??
    await prove(work) ??
    await finish(work);
}

/** Reads the certificates again before the renewal begins, because a person may have renewed them since the survey. */
async function checkDue(work: RenewalWork): Promise<End> {
  const { object, controlPlane: { uid, isUnderWay } } = work;
  if (isUnderWay) return undefined;
  await readCertificates(work);
  const now = await act.surveyRenewal.executeWithOptions({ summary: "Read which certificates expire soon" }, [{
    object,
  }]);
  const isDue = now.state === "Present" && now.controlPlanes.some((each) => each.uid === uid && each.due !== "");
  return isDue ? undefined : "Replan";
}

async function readCertificates({ object, controlPlane: { node, uid } }: RenewalWork): Promise<void> {
  const summary = `Read the certificates of ${node}`;
  await act.ensureCertificatesRead.executeWithOptions({ summary }, [{ object, node, uid }]);
}

async function checkRules(work: RenewalWork): Promise<End> {
  const pool = poolOfGroup(work.controlPlane.group, work.object.cluster);
  const seen = await read.readDesired.executeWithOptions({ summary: `Read the rules of ${pool.name}` }, [{ pool }]);
  const rules = seen.state === "Present" ? seen.rules : undefined;
  return haltOfRules(work.controlPlane, rules, Date.now());
}

/**
 * Takes the slot, and moves the leadership of etcd away. If the move fails with an error, gives the slot back, unless
 * the renewal of this control plane was under way before.
 */
async function takeOut(work: RenewalWork): Promise<End> {
  const halt = await takeSlot(work);
  if (halt) return halt;
  try {
    return await relieve(work);
  } catch (error) {
    // After a cancellation, function `leave` in `renew_certificates.ts` decides whether to give the slot back.
    if (!work.controlPlane.isUnderWay && !isCancellation(error)) await giveBackSlot(work);
    throw error;
  }
}

/**
 * Moves the leadership of etcd to another member. The member of a control plane under way may be restarting, so
 * problems of that member do not block.
 */
async function relieve(work: RenewalWork): Promise<End> {
  const { object, controlPlane: { node, group, machine, isUnderWay, isLeader } } = work;
  const pool = poolOfGroup(group, object.cluster);
  const isLost = isUnderWay && !isLeader;
  const summary = `Move etcd leadership away from ${node}`;
  const seen: Relieved = await awaits.awaitMachineRelieved.executeWithOptions({ summary }, [
    { pool, machine, until: Date.now() + attemptMs, isLost, returns: true, taken: [] },
  ]);
  if (seen.state === "Relieved") return undefined;
  // The slot is given back, because the unhealthy etcd member may be on another control plane, whose repair needs the
  // slot.
  if (isUnderWay) work.keepUnfinished();
  await giveBackSlot(work);
  const message = `Keeping control plane "${node}" unchanged: ${seen.doubts.join("; ")}`;
  return { standing: { reason: "EtcdInDoubt", message }, again: "Soon" };
}

async function order(work: RenewalWork): Promise<End> {
  const { memory, controlPlane: { node, isUnderWay } } = work;
  memory.isOnlyHeld = false;
  const outcome = await giveRenewal(work);
  if (isUntouched(outcome) && !isUnderWay) await giveBackSlot(work);
  return haltOfRenewal(node, outcome);
}

/** Orders the renewal and returns its result; the time in which the API server was unavailable does not count. */
async function giveRenewal({ object, survey, controlPlane }: RenewalWork): Promise<UpgradeOutcome> {
  const { node, uid } = controlPlane;
  const [token, version] = [uuid4(), versionOf(survey, controlPlane)];
  const summary = `Renew the certificates of ${node}`;
  for (let until = Date.now() + orderMs;;) {
    const input = { object, node, uid, version, token, until };
    const seen = await waits().awaitRenewalOrdered.executeWithOptions({ summary }, [input]);
    if (!("unseenMs" in seen)) return seen;
    until += seen.unseenMs;
  }
}

/**
 * Returns the version that the control plane runs; while its static pods are absent because they restart, the version
 * of the cluster.
 */
function versionOf({ cluster }: RenewalWork["survey"], { components }: RenewalPlane): string {
  return components === "" ? cluster : components;
}

async function prove({ object, controlPlane: { node, uid } }: RenewalWork): Promise<End> {
  const summary = `Wait for ${node} to serve with its new certificates`;
  for (let until = Date.now() + healthyMs;;) {
    const input = { object, node, uid, until };
    const seen = await waits().awaitCertificatesRenewed.executeWithOptions({ summary }, [input]);
    if (!("unseenMs" in seen)) {
      return seen.isHealthy
        ? undefined
        : failedRenewal(node, `the control plane was not healthy in time after the renewal: ${seen.evidence}`);
    }
    until += seen.unseenMs;
  }
}

async function finish(work: RenewalWork): Promise<undefined> {
  await readCertificates(work);
  await giveBackSlot(work);
}
