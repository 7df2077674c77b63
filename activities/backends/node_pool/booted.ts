/** Sees a node back from a boot, and asks what it runs: that it is Ready says nothing about that. */
import type { BootVerdict, NodeUpdate, OsStatus, Unseen } from "../../../workflows/contracts/mod.ts";
import { poll } from "../../kube/polling.ts";
import { attempting } from "../../kube/status.ts";
import { lockVerdict } from "./lock_steps.ts";
import { newsOfNodes } from "./news.ts";
import { patchNote } from "./note.ts";
import { orderOf, readBegun, type Updating } from "./orders.ts";
import type { PoolNode } from "./pool_nodes.ts";
import { noteFrom } from "./stage.ts";
import { isLockTarget, partsOf } from "./target.ts";

type Wait = NodeUpdate & { bootId: string; until: number };

/** So long (ms) a node has to tell how it is, before it is asked again. */
const toldMs = 120_000;

/** Waits for a boot other than `bootId`, "" for any, and for the node to be Ready in it; until epoch ms. */
export async function awaitNodeBooted(updating: Updating, wait: Wait): Promise<BootVerdict | Unseen> {
  const { kube } = updating;
  using news = newsOfNodes(kube, wait.pool, () => new Set([wait.machine]));
  return await poll<BootVerdict | Unseen>({
    ...{ until: Number.MAX_SAFE_INTEGER, news }, // that it did not come back is an answer too
    lookBy: () => wait.until,
    look: () => attempting(`observe the reboot of node "${wait.machine}"`, () => look(updating, wait)),
    unseen: (unseenMs, verdict) =>
      verdict && !("unseenMs" in verdict) && verdict.verdict === "Updated" ? verdict : { unseenMs },
    expired: (missing) => new Error(missing),
  });
}

async function look(updating: Updating, wait: Wait): Promise<{ answer: BootVerdict } | { missing: string }> {
  const subject = await readBegun(updating.kube, wait);
  // One of that name without a note is another one, which came later.
  const isOther = !isLockTarget(wait.image) && wait.bootId !== "" && subject?.node.note.bootId === "";
  if (!subject || isOther) return answer("Gone", "The node was deleted");
  const { node } = subject;
  const isOver = Date.now() >= wait.until;
  if (isLockTarget(wait.image)) return lockVerdict(node, isOver);
  const isBack = node.bootId !== wait.bootId;
  if (isBack && node.isReady) {
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
  { kube }: Updating,
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
    : `The node has been down since boot ID "${bootId}"`;
}

function answer(verdict: BootVerdict["verdict"], evidence: string): { answer: BootVerdict } {
  return { answer: { verdict, evidence } };
}
