/** Somebody who sees only the cluster and the cloud, and notes each promise that is broken. */
import type { GroupCloud } from "./group_cloud.ts";
import type { Administrator } from "./group_ground.ts";

const usualMs = 200;

interface Node {
  spec: { providerID?: string };
  status?: { conditions?: { type: string; status: string }[] };
}

export class GroupObserver implements Disposable {
  readonly broken: string[] = [];
  readonly #admin: Pick<Administrator, "list">;
  readonly #cloud: GroupCloud;
  /** Machines of each group above those that are wanted; 0 where one goes first. */
  readonly #surge: Record<string, number>;
  readonly #declared: Map<string, number>;
  readonly #least = new Map<string, number>();
  readonly #timer: ReturnType<typeof setInterval>;

  /** Looks each `everyMs` milliseconds: well below what any step of a machine takes. */
  constructor(
    { admin, everyMs = usualMs }: { admin: Pick<Administrator, "list">; everyMs?: number },
    cloud: GroupCloud,
    surge: Record<string, number>,
  ) {
    this.#admin = admin;
    this.#cloud = cloud;
    this.#surge = surge;
    this.#declared = new Map(cloud.groups().map(({ name, size }) => [name, size]));
    this.#timer = setInterval(() => void this.#look().catch(() => undefined), everyMs);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  async #look(): Promise<void> {
    const nodes = await this.#admin.list<Node>("/api/v1/nodes");
    for (const [name, declared] of this.#declared) this.#judge(name, declared, nodes);
  }

  /** A group is to keep another number from now on; `least` of them are Ready until it does. */
  expect(name: string, declared: number, least: number): void {
    this.#declared.set(name, declared);
    this.#least.set(name, least);
  }

  #judge(name: string, declared: number, nodes: readonly Node[]): void {
    const surge = this.#surge[name] ?? 0;
    const own = this.#cloud.instances().filter(({ group }) => this.#cloud.group(group)?.name === name);
    const alive = own.filter(({ state }) => state !== "Terminated" && state !== "Terminating");
    const isReady = ({ spec, status }: Node): boolean =>
      alive.some(({ providerId }) => providerId === spec.providerID) &&
      (status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false);
    const ready = nodes.filter(isReady).length;
    // Where there is no room above, one is out at a time.
    const least = this.#least.get(name) ?? (surge > 0 ? declared : declared - 1);
    if (alive.length > declared + surge) this.#note(`${name}: ${alive.length} instances, at most ${declared + surge}`);
    if (ready < least) this.#note(`${name}: ${ready} Ready, at least ${least}`);
  }

  #note(line: string): void {
    if (!this.broken.includes(line)) this.broken.push(line);
  }
}
