/** Has a node fetch its image for its next boot; what it runs, and what an update would trip over, is looked at first. */
import type { NodeUpdate, OsOutcome, OsStatus, StageOutcome } from "../../../workflows/contracts/mod.ts";
import type { Kube } from "../../kube/client.ts";
import { lockStage } from "./lock_steps.ts";
import { type Note, patchNote } from "./note.ts";
import { orderOf, readUpdated, type Subject, timeOf, type Updating } from "./orders.ts";
import { isLockTarget, partsOf } from "./target.ts";

/** So long (ms) a node has to tell how it is. */
const toldMs = 120_000;

/** Stages it, unless it is booted or staged already; until epoch ms. */
export async function awaitImageStaged(
  { kube, giveOrder }: Updating,
  update: NodeUpdate & { retriedAt: number; until: number; isAskedAgain?: true },
): Promise<StageOutcome> {
  const subject = await readUpdated(kube, update);
  if (!subject) return { outcome: "Gone" };
  if (isLockTarget(update.image)) return lockStage(subject.node);
  const { image, retriedAt, isAskedAgain = false } = update;
  const failure = subject.node.note.failed.find((each) => each.digest === partsOf(image).digest);
  if (failure && failure.at > retriedAt && !isAskedAgain) return { outcome: "Failed" };
  const until = timeOf(update.until);
  const told = Math.min(until, Date.now() + toldMs);
  const checked = await giveOrder(orderOf(subject, { image, verb: "Check", until: told }));
  if (checked.outcome !== "Done") return checked;
  const { digest } = partsOf(image);
  const before = stageOf(checked.status, digest);
  if (before) return await noted(kube, { subject, status: checked.status, digest });
  await note(kube, subject, noteFrom(checked.status, digest));
  const stop = checked.findings.find(({ stops }) => stops);
  if (stop) return { outcome: "Refused", reason: stop.kind, message: stop.message };
  const staged: OsOutcome = await giveOrder(orderOf(subject, { image, verb: "Stage", until }));
  if (staged.outcome !== "Done") return staged;
  if (stageOf(staged.status, digest)) return await noted(kube, { subject, status: staged.status, digest });
  const message = `The OS tool reports success, but "${staged.status.staged}" is staged`;
  return { outcome: "Refused", reason: "DriverFailed", message };
}

/** How near to an image a machine is; undefined where it would have to fetch it. */
export function stageOf(
  { booted, staged, fallback }: OsStatus,
  digest: string,
): "Booted" | "Image" | "Fallback" | undefined {
  if (staged === digest) return "Image";
  // What is staged would come in its place.
  if (staged !== "") return undefined;
  if (booted === digest) return "Booted";
  return fallback === digest ? "Fallback" : undefined;
}

/** What a machine's answer tells. */
export function noteFrom(status: OsStatus, digest: string): (note: Note) => Note {
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
  await note(kube, subject, noteFrom(status, digest));
  return { outcome: stageOf(status, digest) === "Booted" ? "Booted" : "Staged" };
}

async function note(kube: Kube, { node }: Subject, changed: (note: Note) => Note): Promise<void> {
  await patchNote(kube, node, changed);
}
