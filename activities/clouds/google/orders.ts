/**
 * Creates one instance for a token, for all callers and retries: its name contains the token, and Google accepts a name
 * once.
 */
import { counted } from "../../counted.ts";
import { refused, unavailable } from "../../failures.ts";
import type { Instance, Ordered } from "../driver.ts";
import type { GoogleApi } from "./api.ts";
import { type Group, groupOf } from "./group.ts";
import { instanceOf, isLeaving } from "./instance_of.ts";
import type { GoogleMembers, Ground, Member } from "./members.ts";
import { nameOfOrder } from "./names.ts";
import { failureOf, isKnown, isWithoutRoom, type Refusal, refusalIn } from "./refusal.ts";
import { templateOf } from "./templates.ts";

/** Milliseconds to wait for an error that reports missing capacity; later errors are reported with the instance. */
const roomMs = 8_000;

export class GoogleOrders {
  constructor(
    private readonly api: GoogleApi,
    private readonly ground: Ground,
    private readonly members: GoogleMembers,
  ) {}

  async order({ group: id, token }: { group: string; token: string }): Promise<Ordered> {
    const group = await this.ground.groups.needSteady(id);
    const name = nameOfOrder(group.id, token);
    const member = await this.members.one(group, { name });
    if (member) return await this.#watched(group, member);
    const { size, max } = groupOf(group, this.api.project);
    if (size >= max) {
      throw refused(
        "CloudRefused",
        `Failed to order an instance of "${id}": the group has its maximum of ${counted(size, "instance")}`,
      );
    }
    const refusal = await this.ground.managers.create(group.place, name);
    const made = await this.members.one(group, { name });
    if (made) return await this.#watched(group, made);
    if (!refusal || isKnown(refusal)) return { outcome: "Ordered", instance: await this.#unseen(group, name) };
    if (isWithoutRoom(refusal)) return { outcome: "NoCapacity", says: refusal.says };
    throw failureOf(refusal, `order an instance of "${id}"`);
  }

  /**
   * Waits for the result of the first attempt to create the instance. Google accepts an order without capacity and
   * retries for ever, so the instance of such an order is deleted, and the outcome is "NoCapacity".
   */
  async #watched(group: Group, first: Member): Promise<Ordered> {
    const end = Date.now() + roomMs;
    let member = first;
    for (let ms = 250; isOpen(member.managed) && Date.now() < end; ms = Math.min(2 * ms, 2_000)) {
      await this.api.wait(ms);
      member = await this.members.one(group, first.place) ?? member;
    }
    const { place: { name }, managed } = member;
    const trouble = isUnmade(managed) ? refusalIn(managed.lastAttempt?.errors) : undefined;
    if (trouble && isWithoutRoom(trouble)) return await this.#givenBack(group, member, trouble);
    if (isLeaving(managed) && !managed.instanceStatus) {
      throw unavailable(`Failed to order instance "${name}": an instance of that name is still being deleted`);
    }
    const instance = await this.members.see(group, member);
    if (instance) return { outcome: "Ordered", instance };
    throw unavailable(`Failed to order instance "${name}": Google does not list it yet`);
  }

  async #givenBack(group: Group, { place: { name }, managed }: Member, { says }: Refusal): Promise<Ordered> {
    const refusal = await this.ground.managers.delete(group.place, [managed.instance ?? ""]);
    const after = refusal && await this.members.one(group, { name });
    if (after && !isLeaving(after.managed)) {
      throw failureOf(refusal, `delete instance "${name}", for which capacity is missing`);
    }
    return { outcome: "NoCapacity", says };
  }

  /** Returns the instance of an accepted order that Google does not list yet. */
  async #unseen(group: Group, name: string): Promise<Instance> {
    const { place: { kind, where }, manager } = group;
    if (kind === "regions") throw unavailable(`Failed to order instance "${name}": its zone is not known yet`);
    const image = (await this.ground.templates.facts(templateOf(manager)))?.image ?? "";
    const seen = { place: { zone: where, name }, managed: { currentAction: "CREATING" }, machine: undefined, image };
    return instanceOf(group, seen, this.api.project);
  }
}

/** Returns whether the group is creating the machine for the first time. */
function isUnmade({ currentAction, instanceStatus }: Member["managed"]): boolean {
  return (currentAction ?? "").startsWith("CREATING") && !instanceStatus;
}

/** Returns whether the result of the first attempt to create the machine is not known yet. */
function isOpen(managed: Member["managed"]): boolean {
  return isUnmade(managed) && !refusalIn(managed.lastAttempt?.errors);
}
