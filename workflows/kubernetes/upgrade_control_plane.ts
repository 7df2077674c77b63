/**
 * Upgrades one control plane in place: fetch the components → take the slot → move etcd leadership away, save a
 * snapshot → cordon, drain → upgrade the components → wait until healthy → the same with the kubelet → uncordon,
 * annotate → give the slot back. Each step does nothing if its result already exists, so an interrupted upgrade is
 * repeated from the first step. Until the end the control plane keeps its cordon and its slot.
 */
import type {
  Blocker,
  ClusterObject,
  ControlPlaneState,
  DrainRules,
  PoolRef,
  Relieved,
  Rules,
  SlotAnswer,
  SnapshotTaken,
  UpgradeStanding,
  UpgradeVerb,
} from "../contracts/mod.ts";
import { holderOfUpgrade, poolOfGroup } from "../commands/start_options.ts";
import { awaits, read, write } from "../proxies.ts";
import { blockersText } from "../status/page/blockers.ts";
import { giveOrder, type OnControlPlane, whyUnhealthy } from "./give_order.ts";
import { type ComponentsVerb, hasBegun } from "./next_upgrade_step.ts";
import { failed, haltOfOrder, haltOfRules, type UpgradeHalt } from "./upgrade_halts.ts";
import { act } from "./upgrade_proxies.ts";

/** The memory of a run, which saves the run some steps; to continue, a new run needs only the survey. */
export interface UpgradeMemory {
  /** The uid of the control plane that has fetched the components, and the digest of the components; "" for none. */
  fetched: string;
  /** When the run first asked for the slot that it waits for (epoch ms); null if it waits for none. */
  slotSince: number | null;
  /** Whether the upgrade may have a slot, and when the slot has to be renewed (epoch ms). */
  mayHaveSlot: boolean;
  renewAt: number;
  /**
   * Whether the run has taken the slot for a control plane or is trying to take it, but has not begun to cordon or
   * change that control plane.
   */
  isOnlyHeld: boolean;
}

/**
 * A control plane that needs the slot. By default the holder of the slot is the upgrade of the NodeVersion, and the
 * slot lasts a day unless it is renewed; `holder` and `lastsMs` (milliseconds) change that.
 */
export interface SlotWork {
  object: ClusterObject;
  controlPlane: ControlPlaneState;
  memory: Omit<UpgradeMemory, "fetched">;
  holder?: PoolRef;
  lastsMs?: number;
}

/** The upgrade of one control plane. */
export interface UpgradeWork extends OnControlPlane {
  verb: ComponentsVerb;
  standing: UpgradeStanding;
  memory: UpgradeMemory;
  report: (standing: UpgradeStanding) => Promise<void>;
}

/**
 * The end of a step. undefined: the next step begins. Replan: the work ends, because another state is desired.
 * Otherwise the work halts.
 */
type End = UpgradeHalt | "Replan" | undefined;

/**
 * Milliseconds of one attempt to move the leadership of etcd or to drain; between attempts the run reads the desired
 * state.
 */
const attemptMs = 60_000;
/** Milliseconds until the slot ends unless it is renewed, and until the run renews it. */
const slotMs = 86_400_000;
const renewMs = 3_600_000;
/** Milliseconds of a drain if no policy sets them, and of a drain by force. */
const drainMs = 3_600_000;
const forceMs = 600_000;
const standardDrain: DrainRules = { timeout: null, onBlocked: "Wait", localStorage: "Delete", order: "ByPriority" };

/**
 * Upgrades the control plane. Returns undefined once it runs the version and serves, otherwise why the upgrade ended
 * before.
 */
export async function upgradeControlPlane(work: UpgradeWork): Promise<End> {
  const rules = await rulesOf(work);
  return haltOfRules(work.controlPlane, rules, Date.now()) ??
    await fetchComponents(work) ??
    await takeSlot(work) ??
    await relieve(work, rules) ??
    await empty(work, rules?.drain ?? standardDrain) ??
    await order(work, work.verb) ??
    await prove(work, false) ??
    await order(work, "Kubelet") ??
    await finishControlPlane(work);
}

/**
 * Ends the work on a control plane that runs the version: waits until it is healthy, uncordons and annotates it, and
 * gives the slot back.
 */
export async function finishControlPlane(work: UpgradeWork): Promise<End> {
  const unhealthy = await prove(work, true);
  if (unhealthy) return unhealthy;
  await uncordon(work);
  await announce(work);
  await giveBackSlot(work);
  return undefined;
}

/** Uncordons the control plane, if this upgrade has cordoned it. */
async function uncordon({ object, controlPlane: { node, uid } }: OnControlPlane): Promise<void> {
  await act.ensureControlPlaneUncordoned.executeWithOptions({ summary: `Uncordon ${node}` }, [{ object, node, uid }]);
}

/** Annotates the control plane with the components that it runs. */
export async function announce(
  { object, survey: { components }, controlPlane: { node, uid } }: OnControlPlane,
): Promise<void> {
  const summary = `Annotate ${node} with its components`;
  await act.ensureControlPlaneAnnounced.executeWithOptions({ summary }, [{ object, node, uid, components }]);
}

/** Gives back every slot that the holder has, and leaves the queue for slots. */
export async function giveBackSlot(
  { object, memory, holder = holderOfUpgrade(object) }: Omit<SlotWork, "controlPlane">,
): Promise<void> {
  await write.ensureSlotsKept.executeWithOptions({ summary: "Give back the slot of the control planes" }, [
    { pool: holder, machines: [], of: "ControlPlanes" },
  ]);
  memory.mayHaveSlot = false;
  memory.isOnlyHeld = false;
}

/** Renews the slot of a control plane under way, because a halt can last longer than a slot. */
export async function renewSlot(work: SlotWork): Promise<void> {
  if (Date.now() >= work.memory.renewAt) await askForSlot(work, { begun: true });
}

/** Uncordons a control plane on which nothing is half done, and gives its slot back. */
export async function release(work: OnControlPlane & Pick<UpgradeWork, "memory">): Promise<void> {
  await uncordon(work);
  await giveBackSlot(work);
}

/** Reads the rules of the control plane's group: how it is drained, and where a snapshot of etcd is stored. */
async function rulesOf(work: UpgradeWork): Promise<Rules | undefined> {
  const pool = groupOf(work);
  const seen = await read.readDesired.executeWithOptions({ summary: `Read the rules of ${pool.name}` }, [{ pool }]);
  return seen.state === "Present" ? seen.rules : undefined;
}

function groupOf({ object: { cluster }, controlPlane: { group } }: OnControlPlane): PoolRef {
  return poolOfGroup(group, cluster);
}

async function fetchComponents(work: UpgradeWork): Promise<End> {
  const { memory, controlPlane: { uid }, survey: { digest } } = work;
  const fetched = `${uid} ${digest}`;
  if (memory.fetched === fetched) return undefined;
  const halt = await order(work, "Fetch");
  if (!halt) memory.fetched = fetched;
  return halt;
}

async function order(work: UpgradeWork, verb: UpgradeVerb): Promise<End> {
  const outcome = await giveOrder(work, verb);
  if (outcome.outcome === "Refused" && outcome.reason === "NotFetched") work.memory.fetched = "";
  return haltOfOrder({ node: work.controlPlane.node, verb }, outcome);
}

async function prove(work: UpgradeWork, kubelet: boolean): Promise<End> {
  const evidence = await whyUnhealthy(work, kubelet);
  if (evidence === undefined) return undefined;
  const what = kubelet ? "its kubelet" : "its components";
  return failed(work.controlPlane.node, `it was not healthy in time after the upgrade of ${what}: ${evidence}`);
}

/**
 * Takes the slot for a control plane; returns a halt if another holder has the slot or gets it first. All control
 * planes of the cluster share one slot, which the rollouts of their ScalingGroups take too, so that only one control
 * plane is out of service at a time.
 */
export async function takeSlot(work: SlotWork): Promise<UpgradeHalt | undefined> {
  const { memory, controlPlane } = work;
  const { node, isUnderWay } = controlPlane;
  memory.slotSince ??= Date.now();
  memory.isOnlyHeld = !hasBegun(controlPlane);
  const { taken, holders } = await askForSlot(work, isUnderWay ? { begun: true } : { since: memory.slotSince });
  if (taken) {
    memory.slotSince = null;
    return undefined;
  }
  const by = holders[0] === undefined ? "another pool gets the slot first" : `"${holders[0]}" has the slot`;
  const message =
    `Control plane "${node}" waits, because only one control plane can be out of service at a time: ${by}`;
  return { standing: { reason: "ClusterBudget", message }, again: "Soon" };
}

async function askForSlot(
  { object, memory, controlPlane: { node, machine }, holder = holderOfUpgrade(object), lastsMs = slotMs }: SlotWork,
  asked: { begun: true } | { since: number },
): Promise<SlotAnswer> {
  memory.mayHaveSlot = true;
  const now = Date.now();
  const summary = `Take the slot of the control planes for ${node}`;
  const answer = await write.ensureSlotTaken.executeWithOptions({ summary }, [
    { pool: holder, machine, limit: 1, of: "ControlPlanes", until: now + lastsMs, ...asked },
  ]);
  // If the slot was not taken, the holder only waits in the queue, and giving back the slot would remove it from the
  // queue.
  memory.mayHaveSlot = answer.taken;
  memory.renewAt = answer.taken ? now + Math.min(renewMs, lastsMs / 2) : 0;
  return answer;
}

/**
 * Moves the leadership of etcd to another member, and saves a snapshot. The member of a control plane that is half done
 * may be unhealthy until its upgrade is complete, so problems of that member do not block.
 */
async function relieve(work: UpgradeWork, rules: Rules | undefined): Promise<End> {
  const { controlPlane: { node, machine, kubelet, components, isUnderWay, isLeader }, report, standing } = work;
  const pool = groupOf(work);
  const isWhole = kubelet === components;
  const isLost = isUnderWay && !isWhole && !isLeader;
  const keep = rules?.etcd?.snapshot;
  const name = `${pool.name}-${machine}-${new Date(Date.now()).toISOString()}`;
  const seen: Relieved = await awaits.awaitMachineRelieved.executeWithOptions({
    summary: `Move etcd leadership away from ${node}`,
  }, [{
    ...{ pool, machine, until: Date.now() + attemptMs, isLost, returns: true, taken: [] },
    ...(keep ? { snapshot: { ...keep, name } } : {}),
  }]);
  if (seen.state === "Relieved") {
    await report(savedStanding(node, seen.snapshot));
    return void await report(standing);
  }
  // Unless the control plane is half upgraded, the slot is given back: the unhealthy etcd member may be on another
  // control plane, whose repair needs the slot.
  if (isWhole) await release(work);
  const message = `Keeping control plane "${node}" unchanged: ${seen.doubts.join("; ")}`;
  return { standing: { reason: "EtcdInDoubt", message }, again: "Soon" };
}

function savedStanding(node: string, snapshot: SnapshotTaken | null): UpgradeStanding {
  if (!snapshot) {
    const todo = "to save one, set etcd.snapshot in the RolloutPolicy of its group";
    return { reason: "EtcdNotSaved", message: `Upgrading control plane "${node}" without an etcd snapshot; ${todo}` };
  }
  const { bytes, at, digest } = snapshot;
  const message =
    `Saved an etcd snapshot of ${bytes} bytes at ${at} before upgrading control plane "${node}": ${digest}`;
  return { reason: "EtcdSaved", message };
}

/**
 * Cordons and drains in attempts, and reads the desired state between them; after the timeout deletes the remaining
 * pods if `onBlocked` is Force, and otherwise halts.
 */
async function empty(work: UpgradeWork, rules: DrainRules): Promise<End> {
  const { object, controlPlane: { node, machine }, memory, report, standing } = work;
  memory.isOnlyHeld = false;
  const order = { pool: groupOf(work), machine, node, rules, holder: holderOfUpgrade(object) };
  let end = Date.now() + (rules.timeout ?? drainMs);
  let force = false;
  for (let known = "";;) {
    const until = Math.min(end, Date.now() + attemptMs);
    const summary = `Cordon and drain ${node}${force ? " by force" : ""}`;
    const seen = await awaits.awaitNodeEmptied.executeWithOptions({ summary }, [{ ...order, until, known, force }]);
    if ("unseenMs" in seen) {
      end += seen.unseenMs;
      continue;
    }
    if (seen.outcome === "Drained") return void await report(standing);
    if (seen.key !== known) await report({ reason: "DrainBlocked", message: blockedBy(node, seen.blockers) });
    known = seen.key;
    if (await checkDesired(work) === "Replan") return "Replan";
    await renewSlot(work);
    if (Date.now() < end) continue;
    if (force || rules.onBlocked !== "Force") {
      return failed(node, `the drain did not end in time: ${blockedBy(node, seen.blockers)}`);
    }
    [force, end] = [true, Date.now() + forceMs];
  }
}

function blockedBy(node: string, blockers: Blocker[]): string {
  const draining = `Draining node "${node}"`;
  return blockers.length === 0 ? draining : `${draining}: waiting for ${blockersText(blockers)}`;
}

/** Reads whether the work is still desired: the same version and components, on the same node. */
async function checkDesired(
  { object, survey: { digest }, controlPlane: { uid } }: UpgradeWork,
): Promise<"Desired" | "Replan"> {
  const now = await act.surveyUpgrade.executeWithOptions({ summary: "Read the desired version" }, [{ object }]);
  const isSame = now.state === "Present" && now.digest === digest && now.controlPlanes.some((each) => each.uid === uid);
  return isSame ? "Desired" : "Replan";
}
