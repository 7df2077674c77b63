/**
 * An independent observer of scaling groups: it reads the cluster through its API server, and the cloud through an API
 * without injected faults. It records when a group has too many instances, or too few whose nodes are Ready. It also
 * records a failed read, unless `mayFail`, because a violation may then have been missed.
 */
import type { CloudInstance } from "./group_cloud.ts";
import type { Administrator, GroupGround } from "./group_ground.ts";

const defaultMs = 200;

interface Node {
  metadata: { name: string };
  spec?: { providerID?: string };
  status?: { conditions?: { type: string; status: string }[] };
}

interface Pod {
  metadata: { name: string; ownerReferences?: { kind: string }[] };
  spec: { nodeName?: string };
  status?: { phase?: string };
}

interface Group {
  id: string;
  name: string;
  size: number;
}

type Instance = Pick<CloudInstance, "providerId" | "node" | "state" | "zone">;

/** A snapshot of the cloud and the cluster. */
interface Look {
  instances: Map<string, Instance[]>;
  nodes: Node[];
  pods: Pod[];
}

export interface ObserverOptions {
  admin: Pick<Administrator, "list">;
  /** Milliseconds between two snapshots, which must be much shorter than any step of a machine. */
  everyMs?: number;
  /**
   * Also checks that each zone keeps its number of machines, with at most the surge above it, and that the node of an
   * instance being deleted is drained.
   */
  isStrict?: boolean;
}

export class GroupObserver implements Disposable {
  readonly broken: string[] = [];
  /** Whether a read may fail; a test sets this while it stops the API server. */
  mayFail = false;
  /** Number of complete snapshots. */
  looks = 0;
  /** Number of snapshots with a failed read. */
  failures = 0;
  readonly #options: ObserverOptions;
  readonly #url: string;
  /**
   * Number of machines allowed above the desired number, by group; 0 for a group that deletes an old machine before it
   * creates the new machine.
   */
  readonly #surge: Record<string, number>;
  readonly #declared: Map<string, number>;
  readonly #least = new Map<string, number>();
  /** Number of machines of each zone in the first snapshot, by group. */
  readonly #zones = new Map<string, Map<string, number>>();
  readonly #timer: ReturnType<typeof setInterval>;
  #isLooking = false;
  #isOver = false;

  constructor(options: ObserverOptions, ground: Pick<GroupGround, "cloud" | "shown">, surge: Record<string, number>) {
    this.#options = options;
    this.#url = ground.shown.url;
    this.#surge = surge;
    this.#declared = new Map(ground.cloud.groups().map(({ name, size }) => [name, size]));
    this.#timer = setInterval(() => void this.#observe(), options.everyMs ?? defaultMs);
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    clearInterval(this.#timer);
  }

  async #observe(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      const look = await this.#look();
      if (this.#isOver) return;
      for (const [name, declared] of this.#declared) this.#check(name, declared, look);
      this.looks += 1;
    } catch (error) {
      this.failures += 1;
      if (!this.mayFail && !this.#isOver) this.#note(`Failed to read the cloud or the cluster: ${String(error)}`);
    } finally {
      this.#isLooking = false;
    }
  }

  /**
   * Reads the cloud before the nodes. In the other order, a new node that becomes Ready after the nodes were read would
   * count as not Ready, although the old instance may already be deleted when the cloud is read.
   */
  async #look(): Promise<Look> {
    const { groups } = await this.#describe<{ groups: Group[] }>("/groups");
    const instances = new Map<string, Instance[]>();
    for (const { id, name } of groups.filter((group) => this.#declared.has(group.name))) {
      const path = `/groups/${encodeURIComponent(id)}/instances`;
      instances.set(name, (await this.#describe<{ instances: Instance[] }>(path)).instances);
    }
    const { admin, isStrict } = this.#options;
    const nodes = await admin.list<Node>("/api/v1/nodes");
    return { instances, nodes, pods: isStrict ? await admin.list<Pod>("/api/v1/pods") : [] };
  }

  async #describe<T>(path: string): Promise<T> {
    const response = await fetch(`${this.#url}${path}`);
    if (response.status === 200) return await response.json() as T;
    throw new Error(`HTTP ${response.status} for ${path}: ${await response.text()}`);
  }

  /** Changes the expected size of a group, and the minimum number of its machines that must be Ready. */
  expect(name: string, declared: number, least: number): void {
    this.#declared.set(name, declared);
    this.#least.set(name, least);
  }

  #check(name: string, declared: number, { instances, nodes, pods }: Look): void {
    const surge = this.#surge[name] ?? 0;
    const own = instances.get(name) ?? [];
    const alive = own.filter(({ state }) => state !== "Terminated" && state !== "Terminating");
    const ready = alive.filter(({ providerId }) => nodes.some((node) => isReady(node, providerId)));
    // Without surge, one machine may be unavailable at a time.
    const least = this.#least.get(name) ?? (surge > 0 ? declared : declared - 1);
    if (alive.length > declared + surge) {
      this.#note(`${name}: ${alive.length} instances, expected at most ${declared + surge}`);
    }
    if (ready.length < least) this.#note(`${name}: ${ready.length} Ready, expected at least ${least}`);
    if (!this.#options.isStrict) return;
    this.#checkZones(name, { alive, ready, surge });
    this.#checkEnds(own, nodes, pods);
  }

  #checkZones(
    name: string,
    { alive, ready, surge }: { alive: readonly Instance[]; ready: readonly Instance[]; surge: number },
  ): void {
    const zones = this.#zones.get(name) ?? numbers(alive);
    this.#zones.set(name, zones);
    const [has, up] = [numbers(alive), numbers(ready)];
    for (const [zone, declared] of zones) {
      const least = surge > 0 ? declared : declared - 1;
      if ((up.get(zone) ?? 0) < least) {
        this.#note(`${name}: ${up.get(zone) ?? 0} Ready in zone "${zone}", expected at least ${least}`);
      }
    }
    for (const [zone, number] of has) {
      const most = (zones.get(zone) ?? 0) + surge;
      if (number > most) this.#note(`${name}: ${number} instances in zone "${zone}", expected at most ${most}`);
    }
  }

  /**
   * Checks that the node of each instance being deleted is drained: only static, DaemonSet and ended pods may remain.
   */
  #checkEnds(own: readonly Instance[], nodes: readonly Node[], pods: readonly Pod[]): void {
    for (const { providerId } of own.filter(({ state }) => state === "Terminating")) {
      const node = nodes.find(({ spec }) => spec?.providerID === providerId)?.metadata.name;
      const left = pods.filter((pod) => node !== undefined && pod.spec.nodeName === node && mustMove(pod));
      const names = left.map(({ metadata }) => `"${metadata.name}"`).join(", ");
      if (left.length > 0) {
        this.#note(`the instance of node "${node}" is being deleted, but these pods still run on it: ${names}`);
      }
    }
  }

  #note(line: string): void {
    if (!this.broken.includes(line)) this.broken.push(line);
  }
}

function isReady({ spec, status }: Node, providerId: string): boolean {
  return spec?.providerID === providerId &&
    (status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false);
}

function mustMove({ metadata: { ownerReferences = [] }, status }: Pod): boolean {
  const hasEnded = status?.phase === "Succeeded" || status?.phase === "Failed";
  return !hasEnded && !ownerReferences.some(({ kind }) => kind === "DaemonSet" || kind === "Node");
}

/** Returns the number of instances of each zone. */
function numbers(instances: readonly Instance[]): Map<string, number> {
  const count = new Map<string, number>();
  for (const { zone } of instances) count.set(zone, (count.get(zone) ?? 0) + 1);
  return count;
}
