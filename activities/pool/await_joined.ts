/** Waits for machines to pass the join stages: instance, address, node registered, node Ready, gates. */
import type { Cluster } from "../cluster.ts";
import type {
  JoinDeadlines,
  Joined,
  JoinFailure,
  JoinVerdict,
  PoolRef,
  Rung,
  Unseen,
} from "../../workflows/contracts/mod.ts";
import type { MachineState } from "../backends/contract.ts";
import { backendOf } from "../backends/registry.ts";
import { poll } from "../kube/polling.ts";
import { attempting } from "../kube/status.ts";
import { certificateStateOf } from "../node/certificate_state.ts";
import { type NodeFacts, nodeFacts, unreadinessOf } from "../node/node_facts.ts";
import { lastBootReport, silenceOf } from "./boot_report.ts";

interface JoinQuestion {
  pool: PoolRef;
  /** The kubelet version that a joined node must report. */
  kubelet: string;
  machines: { machine: string; deadlines: JoinDeadlines }[];
}

/**
 * The progress of a machine: it has joined, was deleted (`gone`), or waits for join stage `rung`; `says` is the unmet
 * condition.
 */
type Climb = { joined: Joined } | { gone: true } | { rung: Rung; says: string; failed?: true; isUnclear?: true };

/**
 * A wait that begins after a deadline reads for this time (ms) before the deadline counts, so that after an outage no
 * machine is late at the first read.
 */
const graceMs = 30_000;
/**
 * Milliseconds between reads while a machine names a node that may belong to another machine, because changes of the
 * other machine do not wake this wait.
 */
const unclearMs = 10_000;

/** Receives at each read the next join stage (a `Rung`) of each machine that has neither joined nor been deleted. */
export type RungsTold = (rungs: readonly Rung[]) => void;

/** Ends when each machine has joined, was deleted, or missed the deadline of its next stage. */
export async function awaitMachinesJoined(
  kube: Cluster,
  question: JoinQuestion,
  told: RungsTold = () => {},
): Promise<JoinVerdict | Unseen> {
  const judgeFrom = judgementStart(question, Date.now());
  const names = question.machines.map(({ machine }) => machine);
  const nodes = new Set<string>();
  const seen: Watch["seen"] = new Map();
  let isUnclear = false;
  const backend = backendOf(kube, question.pool);
  using news = backend.newsOfMachines({ pool: question.pool, names }, () => nodes);
  return await poll<JoinVerdict | Unseen>({
    until: Number.MAX_SAFE_INTEGER, // the deadlines of the machines end the wait
    news,
    lookBy: () => {
      const every = Math.min(backend.lookEvery?.() ?? Infinity, isUnclear ? unclearMs : Infinity);
      return Math.min(nextDeadline(question, judgeFrom), Date.now() + every);
    },
    look: () =>
      attempting(
        `read the joining machines of "${question.pool.namespace}/${question.pool.name}"`,
        () => look(kube, { question, judgeFrom, nodes, seen, told, doubt: (found) => isUnclear = found }),
      ),
    unseen: (unseenMs, answer) => answer && "failed" in answer && answer.failed.length === 0 ? answer : { unseenMs },
    expired: (missing) => new Error(missing),
  });
}

// Returns the time from which deadlines count (epoch ms). A wait that begins after a deadline was itself delayed by an
// outage, and time without reads must not count as a failure.
function judgementStart({ machines }: JoinQuestion, now: number): number {
  const isOverdue = machines.some(({ deadlines }) => deadlines.instance <= now);
  return isOverdue ? now + graceMs : now;
}

/** Returns the next time at which a machine may be late (epoch ms), and 1 ms more, because a timer may fire early. */
function nextDeadline({ machines }: JoinQuestion, judgeFrom: number): number {
  const now = Date.now();
  const times = [judgeFrom, ...machines.flatMap(({ deadlines }) => Object.values(deadlines) as number[])];
  return Math.min(...times.filter((time) => time > now)) + 1;
}

interface Watch {
  question: JoinQuestion;
  judgeFrom: number;
  /** Names of the nodes of the machines; a read adds the nodes that it finds. */
  nodes: Set<string>;
  /** Each machine at its last read before it was deleted. */
  seen: Map<string, { climb: Climb; state: MachineState }>;
  told: RungsTold;
  /** Receives whether any machine names a node that may belong to another machine. */
  doubt: (isFound: boolean) => void;
}

async function look(
  kube: Cluster,
  { question, judgeFrom, nodes, seen, told, doubt }: Watch,
): Promise<{ answer: JoinVerdict } | { missing: string }> {
  const climbs = await Promise.all(question.machines.map(async ({ machine, deadlines }) => ({
    machine,
    deadlines,
    climb: await climbOf(kube, { question, nodes, seen }, machine),
  })));
  doubt(climbs.some(({ climb }) => "isUnclear" in climb));
  told(climbs.flatMap(({ climb }) => "rung" in climb ? [climb.rung] : []));
  const joined = climbs.flatMap(({ climb }) => "joined" in climb ? [climb.joined] : []);
  const gone = climbs.flatMap(({ machine, climb }) => "gone" in climb ? [machine] : []);
  const late = Date.now() < judgeFrom ? [] : climbs.filter(isLate);
  if (joined.length + gone.length + late.length < climbs.length) return { missing: missing(climbs) };
  const failed = await Promise.all(late.map((each) => failure(kube, question.pool, each)));
  const known = gone.flatMap((machine) => ({ machine, ...seen.get(machine) }));
  const unjoined = known.flatMap(({ climb, ...each }) => climb && "rung" in climb ? [{ ...each, climb }] : []);
  const lastSeen = await Promise.all(unjoined.map((each) => failure(kube, question.pool, each)));
  return { answer: { joined, failed, gone, ...(lastSeen.length > 0 ? { lastSeen } : {}) } };
}

async function climbOf(kube: Cluster, watch: Pick<Watch, "question" | "nodes" | "seen">, name: string): Promise<Climb> {
  const { pool } = watch.question;
  const state = await backendOf(kube, pool).state({ pool, machine: name });
  if (!state || state.leaving) return { gone: true };
  const climb = await stageOf(kube, watch, state);
  watch.seen.set(name, { climb, state });
  return climb;
}

async function stageOf(
  kube: Cluster,
  watch: Pick<Watch, "question" | "nodes">,
  machine: MachineState,
): Promise<Climb> {
  const { pool, kubelet } = watch.question;
  const backend = backendOf(kube, pool);
  const { name, node } = machine;
  if (node) watch.nodes.add(node);
  const climb = rungOf(machine, node ? await nodeFacts(kube, node) : undefined, { kubelet, unseen: backend.unseen });
  const standing = "joined" in climb ? await backend.standing?.({ pool, machine: name }) : undefined;
  if (standing && standing.state !== "Own") return { rung: "registered", says: standing.says, isUnclear: true };
  const lacks = "joined" in climb ? await backend.welcome?.({ pool, machine: name }) : undefined;
  return lacks ? { rung: "ready", says: lacks } : climb;
}

/** Returns the next join stage of a machine, or the facts about a machine that has joined; pure. */
export function rungOf(
  machine: MachineState,
  node: NodeFacts | undefined,
  { kubelet, unseen }: { kubelet: string; unseen: (node: string) => string },
): Climb {
  const { trouble } = machine;
  const failed = machine.failed ? { failed: true as const } : {};
  if (!machine.ordered || trouble) return { rung: "instance", says: trouble ?? "no instance was ordered", ...failed };
  if (machine.addresses.length === 0) return { rung: "address", says: "the instance has no address" };
  if (!machine.node) return { rung: "registered", says: "no node registered" };
  if (!node) return { rung: "registered", says: `node "${machine.node}" was deleted` };
  const unready = unreadinessOf(node);
  if (unready) return { rung: "ready", says: unready };
  if (!machine.joined) {
    return { rung: "ready", says: machine.lacks ?? unseen(node.name) };
  }
  // If no kubelet version is desired, the version that the node reports is accepted.
  if (kubelet !== "" && !sameVersion(node.kubelet, kubelet)) {
    return { rung: "gates", says: `node "${node.name}" runs kubelet "${node.kubelet}", but "${kubelet}" is desired` };
  }
  return {
    joined: {
      machine: machine.name,
      node: node.name,
      image: machine.image,
      kubelet: node.kubelet,
      readyAt: node.since,
    },
  };
}

function sameVersion(reported: string, wanted: string): boolean {
  const bare = (version: string): string => version.replace(/^v/, "");
  return bare(reported) === bare(wanted) || bare(reported).startsWith(`${bare(wanted)}.`);
}

function isLate({ climb, deadlines }: { climb: Climb; deadlines: JoinDeadlines }): boolean {
  if (!("rung" in climb)) return false;
  if (climb.failed) return true;
  return Date.now() >= (climb.rung === "gates" ? deadlines.ready : deadlines[climb.rung]);
}

function missing(climbs: { machine: string; climb: Climb }[]): string {
  const waiting = climbs.flatMap(({ machine, climb }) => "says" in climb ? [`${machine}: ${climb.says}`] : []);
  const joined = climbs.filter(({ climb }) => "joined" in climb).length;
  const deleted = climbs.length - joined - waiting.length;
  const counts = `${joined} of ${climbs.length} joined${deleted === 0 ? "" : `, ${deleted} deleted`}`;
  return `${counts}; ${waiting.slice(0, 5).join("; ")}`;
}

/** Collects what is known about a machine that did not join; `state` is the last known state of a deleted machine. */
async function failure(
  kube: Cluster,
  pool: PoolRef,
  { machine, climb, state: last }: { machine: string; climb: Climb; state?: MachineState },
): Promise<JoinFailure> {
  const { rung, says } = "says" in climb ? climb : { rung: "gates" as const, says: "" };
  const state = last ?? await backendOf(kube, pool).state({ pool, machine });
  // A machine reports under its own name, or under the host name that its cloud gave it, which is one of its addresses.
  const addresses = state?.addresses ?? [];
  const names = [machine, ...addresses];
  const [event, certificate, report] = await Promise.all([
    state && evidenceFor(kube, state.object),
    rung === "registered" ? certificateStateOf(kube, names) : undefined,
    lastBootReport(kube, pool, names),
  ]);
  const isSilent = rung === "registered" && !last; // a deleted machine runs no command
  const own = report ? `last boot report of the machine: ${report}` : isSilent && silenceOf(addresses);
  const known = [says, event && `last event: ${event}`, certificate, own];
  return { machine, rung, evidence: known.filter(Boolean).join("; ") };
}

// The last Event of the cluster about a machine.

/**
 * Maximum Events of a machine that are read. They are sorted here, because the API server does not list them by time.
 */
const eventsRead = 500;

/** Returns the newest Event about an object as "Reason: message", or undefined. */
async function evidenceFor(
  kube: Cluster,
  { kind, namespace, name }: MachineState["object"],
): Promise<string | undefined> {
  const fieldSelector = `involvedObject.kind=${kind},involvedObject.name=${name}`;
  const { items } = await kube.core.listNamespacedEvent({ namespace, fieldSelector, limit: eventsRead });
  const when = (event: typeof items[number]): number =>
    new Date(event.lastTimestamp ?? event.eventTime ?? event.metadata.creationTimestamp ?? 0).getTime();
  const newest = items.sort((a, b) => when(b) - when(a))[0];
  return newest && `${newest.reason ?? "Event"}: ${(newest.message ?? "").slice(0, 300)}`;
}
