/** An independent observer that reads only the cluster and the cloud, and records each violated guarantee. */
import type { GroupCloud } from "./group_cloud.ts";
import type { Administrator } from "./group_ground.ts";

const defaultMs = 200;

interface Node {
  spec: { providerID?: string };
  status?: { conditions?: { type: string; status: string }[] };
}

export class GroupObserver implements Disposable {
  readonly broken: string[] = [];
  readonly #admin: Pick<Administrator, "list">;
  readonly #cloud: GroupCloud;
  /** Number of machines allowed above the desired number, by group; 0 if the old machine is deleted first. */
  readonly #surge: Record<string, number>;
  readonly #declared: Map<string, number>;
  readonly #least = new Map<string, number>();
  readonly #timer: ReturnType<typeof setInterval>;

  /** Checks every `everyMs` milliseconds, which must be much shorter than any step of a machine. */
  constructor(
    { admin, everyMs = defaultMs }: { admin: Pick<Administrator, "list">; everyMs?: number },
    cloud: GroupCloud,
    surge: Record<string, number>,
  ) {
    this.#admin = admin;
    this.#cloud = cloud;
    this.#surge = surge;
    this.#declared = new Map(cloud.groups().map(({ name, size }) => [name, size]));
    this.#timer = setInterval(() => void this.#observe().catch(() => undefined), everyMs);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  async #observe(): Promise<void> {
    const nodes = await this.#admin.list<Node>("/api/v1/nodes");
    for (const [name, declared] of this.#declared) this.#check(name, declared, nodes);
  }

  /** Changes the expected size of a group; at least `least` machines must be Ready until it is reached. */
  expect(name: string, declared: number, least: number): void {
    this.#declared.set(name, declared);
    this.#least.set(name, least);
  }

  #check(name: string, declared: number, nodes: readonly Node[]): void {
    const surge = this.#surge[name] ?? 0;
    const own = this.#cloud.instances().filter(({ group }) => this.#cloud.group(group)?.name === name);
    const alive = own.filter(({ state }) => state !== "Terminated" && state !== "Terminating");
    const isReady = ({ spec, status }: Node): boolean =>
      alive.some(({ providerId }) => providerId === spec.providerID) &&
      (status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false);
    const ready = nodes.filter(isReady).length;
    // Without surge, one machine may be unavailable at a time.
    const least = this.#least.get(name) ?? (surge > 0 ? declared : declared - 1);
    if (alive.length > declared + surge) this.#note(`${name}: ${alive.length} instances, at most ${declared + surge}`);
    if (ready < least) this.#note(`${name}: ${ready} Ready, at least ${least}`);
  }

  #note(line: string): void {
    if (!this.broken.includes(line)) this.broken.push(line);
  }
}
