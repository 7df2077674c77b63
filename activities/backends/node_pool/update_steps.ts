/** The steps that update a node to an image in place: check, stage, boot, and record what the node runs afterwards. */
import type {
  BootOrdered,
  BootVerdict,
  NodeUpdate,
  NodeUpdateActivities,
  OsOutcome,
  OsStatus,
  StageOutcome,
  Unseen,
} from "../../../workflows/contracts/mod.ts";
import type { Kube } from "../../kube/client.ts";
import { grantLock, LockRelease, lockStage, lockVerdict } from "./fleet_lock.ts";
import { type Note, patchNote, withFailure } from "./note.ts";
import { isSelfUpdating, orderOf, readBegun, readUpdated, type Subject, timeOf, type Updating } from "./orders.ts";
import { isLockTarget, partsOf } from "./wanted.ts";
import { poll } from "../../kube/polling.ts";
import { attempting } from "../../kube/status.ts";
import { awaitNodeGone, ensureNodeReplaced, readMaker } from "./replaced.ts";
import { newsOfNodes } from "./news.ts";
import { type PoolNode, readPoolNode } from "./pool_nodes.ts";
import type { Cluster } from "../../cluster.ts";
import { patchLock } from "./lock.ts";

/** Creates the activities that update nodes in place. */
export function nodeUpdateSteps(updating: Updating): NodeUpdateActivities {
  const { kube } = updating;
  const named = <T>({ machine }: NodeUpdate, what: string, step: () => Promise<T>): Promise<T> =>
    attempting(`${what} node "${machine}"`, step);
  return {
    awaitImageStaged: (input) => named(input, "stage an image on", () => awaitImageStaged(updating, input)),
    awaitBootOrdered: (input) => named(input, "boot", () => awaitBootOrdered(updating, input)),
    awaitNodeBooted: (input) => awaitNodeBooted(updating, input),
    ensureImageFailed: (input) => ensureImageFailed(kube, input),
    readMaker: (input) => named(input, "find the machine of", () => readMaker(updating, input)),
    ensureNodeReplaced: (input) => named(input, "replace", () => ensureNodeReplaced(updating, input)),
    awaitNodeGone: (input) => awaitNodeGone(kube, input),
  };
}

type Ordering = Pick<Updating, "kube" | "giveOrder">;

/** Milliseconds in which a node must report what it runs. */
const toldMs = 120_000;

/**
 * Has the node fetch the image by `until` (epoch ms), unless the node has booted or fetched that image already, refuses
 * it, or failed with it after `retriedAt`. With `isAskedAgain` such a failure does not count.
 */
export async function awaitImageStaged(
  { kube, giveOrder }: Ordering,
  update: NodeUpdate & { retriedAt: number; until: number; isAskedAgain?: true },
): Promise<StageOutcome> {
  const subject = await readUpdated(kube, update);
  if (!subject || isSelfUpdating(subject, update.image)) return { outcome: "Gone" };
  if (isLockTarget(update.image)) return lockStage(subject.node);
  const { image, retriedAt, isAskedAgain = false } = update;
  const failure = subject.node.note.failed.find((each) => each.digest === partsOf(image).digest);
  if (failure && failure.at > retriedAt && !isAskedAgain) return { outcome: "Failed" };
  const until = timeOf(update.until);
  const told = Math.min(until, Date.now() + toldMs);
  const checked = await giveOrder(orderOf(subject, { image, verb: "Check", until: told }));
  if (checked.outcome !== "Done") return checked;
  const { digest } = partsOf(image);
  if (stageOf(checked.status, digest)) return await noted(kube, { subject, status: checked.status, digest });
  await patchNote(kube, subject.node, noteFrom(checked.status, digest));
  const stop = checked.findings.find(({ stops }) => stops);
  if (stop) return { outcome: "Refused", reason: stop.kind, message: stop.message };
  const staged: OsOutcome = await giveOrder(orderOf(subject, { image, verb: "Stage", until }));
  if (staged.outcome !== "Done") return staged;
  if (stageOf(staged.status, digest)) return await noted(kube, { subject, status: staged.status, digest });
  const message = `The OS tool reports success, but the staged image is "${staged.status.staged}", not "${digest}"`;
  return { outcome: "Refused", reason: "DriverFailed", message };
}

/**
 * Returns how a node has an image: as the staged one, which it boots next (Image), as the booted one, or as the
 * previous one, which a rollback boots (Fallback); undefined if the node must fetch the image.
 */
function stageOf(
  { booted, staged, fallback }: OsStatus,
  digest: string,
): "Booted" | "Image" | "Fallback" | undefined {
  if (staged === digest) return "Image";
  // If an image other than `digest` is staged, the node boots that image next, whatever it runs now.
  if (staged !== "") return undefined;
  if (booted === digest) return "Booted";
  return fallback === digest ? "Fallback" : undefined;
}

/** Returns how a node's note changes after the node has reported its status. */
function noteFrom(status: OsStatus, digest: string): (note: Note) => Note {
  const stage = stageOf(status, digest);
  const isReady = stage === "Image" || stage === "Fallback";
  return ({ failed }) => ({
    ...{ bootId: status.bootId, booted: status.booted, staged: isReady ? digest : "" },
    ...{ by: stage === "Fallback" ? "Fallback" : "Image", ordered: "" },
    failed: stage === "Booted" ? failed.filter((each) => each.digest !== digest) : failed,
  });
}

async function noted(
  kube: Kube,
  { subject, status, digest }: { subject: Subject; status: OsStatus; digest: string },
): Promise<StageOutcome> {
  await patchNote(kube, subject.node, noteFrom(status, digest));
  return { outcome: stageOf(status, digest) === "Booted" ? "Booted" : "Staged" };
}

/**
 * Orders the node to boot its staged image, once. The order is written into the note before the node gets it. So, if
 * the node has a new boot ID, the note shows whether it booted on order (Ordered) or by itself (Rebooted). A node that
 * does not answer may have booted, so it counts as Ordered; its boot ID shows later whether it did.
 */
export async function awaitBootOrdered(
  { kube, giveOrder }: Ordering,
  update: NodeUpdate & { until: number },
): Promise<BootOrdered> {
  const subject = await readBegun(kube, update);
  if (!subject) return { outcome: "Gone" };
  if (isLockTarget(update.image)) return await grantLock(kube, subject.node);
  const { image } = update;
  const { note, bootId } = subject.node;
  if (note.bootId !== bootId) {
    return note.ordered !== "" && note.ordered === note.bootId
      ? { outcome: "Ordered", bootId: note.bootId }
      : { outcome: "Rebooted" };
  }
  // The pod of an earlier order may still boot the node.
  if (isSelfUpdating(subject, image)) {
    return note.ordered === bootId ? { outcome: "Ordered", bootId } : { outcome: "Gone" };
  }
  if (note.staged !== partsOf(image).digest) {
    const message = `The staged image is "${note.staged}", not "${partsOf(image).digest}"`;
    return { outcome: "Refused", reason: "NotStaged", message };
  }
  await patchNote(kube, subject.node, (now) => ({ ...now, ordered: bootId }));
  const verb = note.by === "Fallback" ? "GoBack" : "Apply";
  const told = await giveOrder(orderOf(subject, { image, verb, until: timeOf(update.until) }));
  return told.outcome === "Refused" ? told : { outcome: "Ordered", bootId };
}

type Wait = NodeUpdate & { bootId: string; until: number };

/**
 * Waits for a boot other than `bootId` ("" for any) in which the node is Ready, at the latest until `until` (epoch ms);
 * then asks the node what it runs, which its readiness does not show.
 */
async function awaitNodeBooted(updating: Ordering, wait: Wait): Promise<BootVerdict | Unseen> {
  const { kube } = updating;
  using news = newsOfNodes(kube, wait.pool, () => new Set([wait.machine]));
  const release = new LockRelease();
  return await poll<BootVerdict | Unseen>({
    // `poll` must not throw at `wait.until`, because a node that did not come back is a result and not an error.
    ...{ until: Number.MAX_SAFE_INTEGER, news },
    lookBy: () => release.lookBy(Date.now()) ?? wait.until,
    look: () => attempting(`observe the reboot of node "${wait.machine}"`, () => look(updating, wait, release)),
    unseen: (unseenMs, verdict) =>
      verdict && !("unseenMs" in verdict) && verdict.verdict === "Updated" ? verdict : { unseenMs },
    expired: (missing) => new Error(missing),
  });
}

async function look(
  updating: Ordering,
  wait: Wait,
  release: LockRelease,
): Promise<{ answer: BootVerdict } | { missing: string }> {
  const subject = await readBegun(updating.kube, wait);
  // The note of the updated node has a boot ID, so a node of this name without a note is a newer node.
  const isOther = !isLockTarget(wait.image) && wait.bootId !== "" && subject?.node.note.bootId === "";
  if (!subject || isOther) return answer("Gone", "The node was deleted");
  const { node } = subject;
  const now = Date.now();
  const isOver = now >= wait.until;
  if (isLockTarget(wait.image)) {
    return lockVerdict(node, { isOver, isHeard: await release.isHeard(updating.kube, node, { ...wait, now }) });
  }
  const isBack = node.bootId !== wait.bootId;
  if (isBack && node.isReady) {
    if (isSelfUpdating(subject, wait.image)) return answer("Updated", "The node is Ready, and updates itself by now");
    const until = Date.now() + toldMs;
    const told = await updating.giveOrder(orderOf(subject, { image: wait.image, verb: "Status", until }));
    if (told.outcome === "Done") return { answer: await judged(updating, { wait, node, status: told.status }) };
    const missing = `The node is Ready, but does not report its image: ${told.message}`;
    return isOver ? answer("NotReady", missing) : { missing };
  }
  const missing = wordsOf(node, isBack);
  if (!isOver) return { missing };
  return answer(isBack ? "NotReady" : node.isReady ? "NotBooted" : "Lost", missing);
}

async function judged(
  { kube }: Ordering,
  { wait, node, status }: { wait: Wait; node: PoolNode; status: OsStatus },
): Promise<BootVerdict> {
  const { digest } = partsOf(wait.image);
  await patchNote(kube, node, noteFrom(status, digest));
  if (status.booted === digest) return { verdict: "Updated", evidence: `The node booted ${digest} and is Ready` };
  return { verdict: "RolledBack", evidence: `The node booted "${status.booted}" instead of "${digest}"` };
}

function wordsOf({ isReady, bootId }: PoolNode, isBack: boolean): string {
  if (isBack) return `The node rebooted (boot ID "${bootId}"), but is not Ready`;
  return isReady
    ? `The node is Ready, but has not rebooted (boot ID "${bootId}")`
    : `The node is not Ready, and has not reported a reboot (boot ID "${bootId}")`;
}

function answer(verdict: BootVerdict["verdict"], evidence: string): { answer: BootVerdict } {
  return { answer: { verdict, evidence } };
}

/** Records on a node that an image failed there at `at` (epoch ms); does nothing for a deleted node. */
function ensureImageFailed(
  kube: Cluster,
  { machine, image, reason, at, isReplaceable }: NodeUpdate & { reason: string; at: number; isReplaceable?: true },
): Promise<void> {
  return attempting(`record the failed image on node "${machine}"`, async () => {
    const node = await readPoolNode(kube, machine);
    if (!node) return;
    if (isLockTarget(image)) return await patchLock(kube, node, (lock) => lock && { ...lock, failed: at });
    const failure = { digest: partsOf(image).digest, reason, at, ...(isReplaceable ? { isReplaceable } : {}) };
    await patchNote(kube, node, (note) => withFailure(note, failure));
  });
}
