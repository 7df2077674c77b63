/**
 * The state of Azure over the simulated cloud: tags of sets, IDs of instances, the result of the last change, and lag.
 */
import { type CloudInstance, CloudRefusal, type GroupCloud } from "../../../deploy/local/cloud/groups/group_cloud.ts";
import { AzureWrong } from "./azure_requests.ts";

type Group = ReturnType<GroupCloud["groups"]>[number];

export interface AzureConditions {
  clusterTag: string;
  /**
   * Milliseconds that a change of a set takes: until then no other change is possible, and new instances are hidden for
   * half of that time.
   */
  workMs?: number;
  /** Milliseconds for which a new instance is hidden. */
  lagMs?: number;
  /** Milliseconds for which a deleted instance is shown unchanged. */
  lateMs?: number;
  /** When Azure reports missing capacity: in the response, or later, when the change has failed. */
  lack?: "AtOnce" | "Later";
  /** Additional properties of sets, beside those that a client has requested. */
  properties?: Record<string, unknown>;
}

/** Milliseconds that a change takes by default, so that a client always meets a change that is not complete. */
const workMs = 60;

export const lackCode = "ProvisioningState/failed/AllocationFailed";

export class AzureGround {
  /** Milliseconds for which a new instance is hidden. */
  lagMs: number;
  readonly #tags = new Map<string, Record<string, string>>();
  readonly #failed = new Set<string>();
  /** Epoch milliseconds at which the last change of a set ends. */
  readonly #busy = new Map<string, number>();
  readonly #deleted = new Map<string, number>();
  #changes = 0;
  #raised = 0;

  constructor(readonly cloud: GroupCloud, readonly conditions: AzureConditions) {
    this.lagMs = conditions.lagMs ?? (conditions.workMs ?? workMs) / 2;
  }

  group(name: string): Group {
    const found = this.cloud.groups().find(({ id }) => nameOf(id).toLowerCase() === name);
    if (found) return found;
    throw new AzureWrong(404, "ResourceNotFound", `no scale set "${name}"`);
  }

  tagsOf(group: Group): Record<string, string> {
    const role = { Worker: "worker", ControlPlane: "control-plane", "": "" }[group.role];
    const own = { "constellation-role": role, "constellation-node-group": group.name };
    const first = { "constellation-uid": this.conditions.clusterTag, ...own, max: `${group.max}`, min: `${group.min}` };
    return this.#tags.get(group.id) ?? first;
  }

  setTags(group: Group, tags: Record<string, string>): void {
    this.#tags.set(group.id, tags);
  }

  /** Returns the ETag of a set: it differs after any change of the set by any client, and after the end of a change. */
  etagOf(group: Group): string {
    const isBusy = this.isBusy(group);
    return `"${btoa(JSON.stringify([this.#changes, isBusy, group.size, group.boots.id, this.tagsOf(group)]))}"`;
  }

  /** Returns whether the last change of the set is in progress. */
  isBusy({ id }: Group): boolean {
    return Date.now() < (this.#busy.get(id) ?? 0);
  }

  /** Throws Azure's response to a concurrent change (409) if the last change of the set is in progress. */
  checkIdle(group: Group): void {
    if (!this.isBusy(group)) return;
    throw new AzureWrong(409, "Conflict", "The request failed due to conflict with a concurrent request.");
  }

  /** Ends all changes that are in progress. */
  finish(): void {
    this.#busy.clear();
  }

  isFailed(group: Group): boolean {
    return !this.isBusy(group) && this.#failed.has(group.id);
  }

  noteChange(group: Group): void {
    this.#changes += 1;
    this.#busy.set(group.id, Date.now() + (this.conditions.workMs ?? workMs));
    this.#failed.delete(group.id);
  }

  visible(group: Group): CloudInstance[] {
    const all = this.cloud.instances(group.id).filter(({ state }) => state !== "Terminated");
    return all.filter(({ since }) => Date.now() >= Date.parse(since) + this.lagMs);
  }

  /** Returns the state of an instance that clients see. */
  stateOf({ state, providerId }: CloudInstance): CloudInstance["state"] {
    const { lateMs = 0 } = this.conditions;
    return Date.now() < (this.#deleted.get(providerId) ?? 0) + lateMs ? "Ready" : state;
  }

  /** Changes the size of a set. A lower size deletes the oldest instances, which no test intends. */
  resize(group: Group, size: number): void {
    while (group.size < size && this.#raise(group));
    if (group.size > size) this.cloud.resize(group, size);
    group.size = size;
  }

  /** Adds an instance; returns false if that failed in a way that the client learns only later. */
  #raise(group: Group): boolean {
    try {
      this.cloud.order(group, `raise-${++this.#raised}`);
      return true;
    } catch (error) {
      const { lack = "AtOnce" } = this.conditions;
      if (!(error instanceof CloudRefusal) || error.reason !== "NoCapacity" || lack === "AtOnce") {
        this.finish();
        throw error;
      }
      this.#failed.add(group.id);
      return false;
    }
  }

  delete(group: Group, id: string): void {
    const found = this.cloud.instances(group.id).find((each) => idOf(each) === id);
    if (!found || found.state === "Terminated") return;
    // Azure does not promise that a second deletion does nothing, so here it lowers the size again.
    if (found.state === "Terminating") group.size -= 1;
    this.#deleted.set(found.providerId, Date.now());
    this.cloud.remove(found.providerId, true);
  }
}

/** IDs of uniform instances grow, and are never reused. */
export function idOf({ node }: CloudInstance): string {
  return node.slice(node.lastIndexOf("-") + 1);
}

export function nameOf(id: string): string {
  return id.slice(id.lastIndexOf("/") + 1);
}
