/** Annotates a node with the components that its JoiningNode announces, and deletes the JoiningNode. */
import type { Cluster } from "../cluster.ts";
import type { V1Node } from "@kubernetes/client-node";
import type { ClusterObject, JoiningOutcome } from "../../workflows/contracts/mod.ts";
import { unavailable } from "../failures.ts";
import { asMergePatch, type Kube } from "../kube/client.ts";
import { deleteClusterObject, readClusterObject } from "../kube/resources.ts";
import { attempting, ifFound, statusOf } from "../kube/status.ts";
import { type JoiningNode, joiningNodes } from "../kube/update_kinds.ts";
import { emitEvents } from "../status/events.ts";
import { lackOf, othersFirst } from "./joining_control_plane.ts";
import { marks } from "./marks.ts";

const hourMs = 3_600_000;
/** Deadline (ms) of a JoiningNode without one: equal to the deadline that the join service sets for a worker node. */
const usualMs = 48 * hourMs;
/** Longest deadline (ms), because users who may write JoiningNodes can set any deadline. */
const mostMs = 7 * 24 * hourMs;

/** Number of conflicts with other writers after which the activity throws, so that Temporal retries it. */
const tries = 5;

/** Milliseconds between reads of a joining control plane, because etcd sends no events: short at first, long later. */
const lookAgain = { soon: 5_000, seldom: 60_000, soonFor: 600_000 };

type Step = "Annotate" | "Expire" | "Wait";

/**
 * Annotates the node that a JoiningNode names, and deletes the JoiningNode. Returns `Waiting` while the node has not
 * completed its join. After the deadline, deletes the JoiningNode in any case, with an Event if its node did not join.
 */
export function ensureNodeAnnotated(
  kube: Cluster,
  { object: { name } }: { object: ClusterObject },
): Promise<JoiningOutcome> {
  return attempting(`admit JoiningNode "${name}"`, async () => {
    for (let nth = 0; nth < tries; nth++) {
      const outcome = await admit(kube, name);
      if (outcome) return outcome;
    }
    throw unavailable(`Failed to delete JoiningNode "${name}": ${tries} conflicts with other writers`);
  });
}

/**
 * Takes the next step of a JoiningNode; returns undefined if it was modified after it was read, so the caller retries.
 */
async function admit(kube: Cluster, name: string): Promise<JoiningOutcome | undefined> {
  const record = await ifFound(readClusterObject(kube, joiningNodes, name));
  if (!record) return { outcome: "Gone" };
  const { name: wanted, componentsreference: components } = record.spec;
  const node = wanted === "" ? undefined : await ifFound(kube.core.readNode({ name: wanted }));
  const step = stepOf(record, node, Date.now());
  const until = new Date(joinDeadlineOf(record)).toISOString();
  if (step === "Wait") return { outcome: "Waiting", says: `Waiting until ${until} for node "${wanted}" to join` };
  const first = step === "Annotate"
    ? await othersFirst(kube, record, (each) => Date.now() >= joinDeadlineOf(each))
    : undefined;
  if (first !== undefined) return { outcome: "Waiting", says: first, againMs: againMsOf(record) };
  const says = `Node "${wanted}" did not join by ${until}`;
  if (step === "Annotate") await annotate(kube, wanted, { node, components });
  const lacks = step === "Annotate" && record.spec.iscontrolplane ? await lackOf(kube, wanted) : undefined;
  const isLate = Date.now() >= joinDeadlineOf(record);
  if (lacks !== undefined && !isLate) {
    return {
      outcome: "Waiting",
      says: `Waiting until ${until} for node "${wanted}": ${lacks}`,
      againMs: againMsOf(record),
    };
  }
  if (step === "Expire") {
    await emitEvents(kube, eventSubject(record), [{ type: "Warning", reason: "JoinExpired", message: says }]);
  }
  if (await forget(kube, record) === "Changed") return undefined;
  return step === "Annotate" ? { outcome: "Annotated", node: wanted, components } : { outcome: "Expired", says };
}

function againMsOf({ metadata }: JoiningNode): number {
  const isNew = Date.now() < Date.parse(metadata.creationTimestamp) + lookAgain.soonFor;
  return isNew ? lookAgain.soon : lookAgain.seldom;
}

/** Returns the deadline of a JoiningNode (epoch ms). */
export function joinDeadlineOf({ metadata, spec }: Pick<JoiningNode, "metadata" | "spec">): number {
  const made = Date.parse(metadata.creationTimestamp);
  const wanted = spec.deadline ? Date.parse(spec.deadline) : made + usualMs;
  return Math.min(wanted, made + mostMs);
}

/**
 * Returns the next step; pure. Waits while the Node is older than its JoiningNode and not Ready: that Node may be a
 * previous one of the same name, which is about to be deleted together with its annotations.
 */
export function stepOf(record: JoiningNode, node: V1Node | undefined, now: number): Step {
  const { name, componentsreference } = record.spec;
  const isUsable = name !== "" && componentsreference !== "";
  if (isUsable && node && !node.metadata?.deletionTimestamp && isOfRecord(record, node)) return "Annotate";
  return now >= joinDeadlineOf(record) ? "Expire" : "Wait";
}

function isOfRecord({ metadata }: JoiningNode, { metadata: of, status }: V1Node): boolean {
  const made = new Date(of?.creationTimestamp ?? 0).getTime();
  const isReady = status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
  return isReady || made >= Date.parse(metadata.creationTimestamp);
}

async function annotate(
  kube: Kube,
  name: string,
  { node, components }: { node: V1Node | undefined; components: string },
): Promise<void> {
  const { uid, annotations } = node?.metadata ?? {};
  if (annotations?.[marks.components] === components) return;
  // The UID makes the API server refuse the patch for another node of this name.
  const body = { metadata: { uid, annotations: { [marks.components]: components } } };
  await kube.core.patchNode({ name, body }, asMergePatch);
}

/** Deletes the JoiningNode; returns "Changed" if it was modified after it was read, for example by a new join. */
async function forget(kube: Kube, { metadata }: JoiningNode): Promise<"Forgotten" | "Changed"> {
  try {
    await ifFound(deleteClusterObject(kube, joiningNodes, metadata));
    return "Forgotten";
  } catch (error) {
    if (statusOf(error) === 409) return "Changed";
    throw error;
  }
}

function eventSubject({ metadata: { name, uid } }: JoiningNode): Parameters<typeof emitEvents>[1] {
  return { namespace: "", name, uid, object: { apiVersion: "update.edgeless.systems/v1alpha1", kind: "JoiningNode" } };
}
