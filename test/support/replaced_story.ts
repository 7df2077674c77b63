/**
 * Pools of nodes that have Machines, in which one node fails to update in place; tests check whether that node is
 * replaced.
 */
import { deepEqual, equal } from "node:assert/strict";
import type { OsFinding, OsRefusal, Progress } from "../../workflows/contracts/mod.ts";
import { eventually } from "./eventually.ts";
import { NodeMaker } from "./node_maker.ts";
import type { NodeMakerOptions } from "./node_maker.ts";
import { FakeNodes } from "./fake_nodes.ts";
import type { Fate } from "./fake_nodes.ts";
import type { Handle, Stage } from "./workflow_stage.ts";

/** A policy that replaces a node that refuses an update in place. */
export const replacing = { onImageChange: "ReplaceIfRefused", maxFailed: 3, inPlace: { stage: "20s", boot: "20s" } };
/** The time to boot in stories in which a node does not boot; others need more, because the machine may be busy. */
const briefly = { stage: "20s", boot: "1s" };

/** The same policy without `onImageChange`, so that no node is replaced. */
export const { onImageChange: _, ...neverReplacing } = replacing;

export interface Scene {
  nodes: FakeNodes;
  maker: NodeMaker;
  handle: Handle;
  /** Name of the node that fails to update. */
  bad: string;
}

export interface Story extends NodeMakerOptions {
  policy?: Record<string, unknown>;
  count?: number;
  /** Number of the node that fails to update, from 1; by default the first. */
  nth?: number;
  bootMs?: number;
  /** The reaction of that node when it boots image b. */
  fate?: Fate;
  refuses?: OsRefusal | OsFinding["kind"];
  /** Whether the nodes have Machines; true by default. */
  isMade?: boolean;
}

/** Starts the rollout of a pool from image a to image b, in which one node fails to update. */
export async function rolling(stage: Stage, story: Story): Promise<Scene> {
  const { policy: given = replacing, count = 3, nth = 1, bootMs = 50, fate, refuses, isMade = true, ...options } =
    story;
  const policy = fate && given["inPlace"] === replacing.inPlace ? { ...given, inPlace: briefly } : given;
  const nodes = new FakeNodes({ nodes: count, policy, bootMs });
  const bad = `${nodes.name}-${nth}`;
  await nodes.settle(stage);
  const maker = isMade ? new NodeMaker(nodes, options) : undefined;
  const boots = bootsOnceOf(nodes, bad);
  nodes.fate = (name) => name === bad && fate && boots() ? fate : "boots";
  nodes.meet = ({ verb, node, uid }) =>
    refuses && verb === "Stage" && node === bad && uid === `uid-of-${bad}`
      ? { outcome: "Refused", reason: refuses as OsRefusal, message: "as it is" }
      : undefined;
  putPod(nodes, bad);
  nodes.ask("b");
  return { nodes, maker: maker as NodeMaker, handle: await nodes.rollOut(stage), bad };
}

/**
 * Returns a function that checks whether the first node of that name still exists, and not one that has replaced it.
 */
function bootsOnceOf({ kube }: FakeNodes, name: string): () => boolean {
  return () => kube.get("nodes", name)?.metadata.uid === `uid-of-${name}`;
}

function putPod({ kube }: FakeNodes, nodeName: string): void {
  const metadata = { namespace: "default", name: "web-1", labels: { app: "web" } };
  kube.put("pods", { metadata, spec: { nodeName }, status: { phase: "Running" } });
}

/** Expects the rollout to converge and to replace the bad node, and a second rollout to update the new node. */
export async function converged(stage: Stage, { nodes, handle, maker, bad }: Scene): Promise<void> {
  equal((await handle.result()).outcome, "Converged");
  await eventually("another node", () => maker.gone.length > 0 && nodes.nodes.size === 3);
  equal((await (await nodes.rollOut(stage)).result()).outcome, "Converged");
  deepEqual([nodes.booted(), nodes.cordoned(), maker.gone], ["bbb", [], [bad]]);
}

export async function halted(stage: Stage, nodes: FakeNodes): Promise<Progress> {
  await eventually("a halt", () => nodes.told()?.phase === "Halted");
  return await eventually("a halted rollout that updates no node", async () => {
    const progress = await nodes.progress(stage);
    return progress.quarantine.length > 0 && progress.underway.length === 0 && progress;
  });
}

export function eventsOf({ kube }: FakeNodes, reason: string): string[] {
  const events = kube.all("events") as unknown as { reason: string; message: string }[];
  return events.filter((each) => each.reason === reason).map(({ message }) => message);
}
