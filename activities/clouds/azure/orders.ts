/**
 * Executes the steps of `order_step.ts` until the order has its instance, capacity is missing, or the order takes too
 * long.
 */
import type { VirtualMachineScaleSet } from "@azure/arm-compute";
import { counted } from "../../counted.ts";
import { refused, unavailable } from "../../failures.ts";
import type { Ordered } from "../driver.ts";
import type { Outcome, Place } from "./api.ts";
import { idOf, instanceOf, unseen } from "./instance_of.ts";
import { boundTo, checkRoom, type Notes, notesOf, tagsWith } from "./notes.ts";
import { nextStep, type Sight, type Step } from "./order_step.ts";
import { Patience } from "./patience.ts";
import { groupOf, isGoing, nameOf, type ScaleSets } from "./scale_sets.ts";

interface Look extends Sight {
  set: VirtualMachineScaleSet;
}

interface Call {
  group: string;
  token: string;
  patience: Patience;
  /** Why the instance of this order is deleted; "" while it is not. */
  lost: string;
  /**
   * Ids of instances that this call has deleted: Azure may report a deletion late, and this call must not repeat the
   * deletion.
   */
  deleted: Set<number>;
}

/** Maximum number of remembered orders whose instances are deleted. */
const remembered = 30;

/** The steps of an open order. */
type OpenStep = Exclude<Step, { do: "Tell" | "Raise" }>;

export class AzureOrders {
  constructor(private readonly sets: ScaleSets, private readonly place: Place) {}

  async order(order: { group: string; token: string }): Promise<Ordered> {
    const call: Call = { ...order, patience: new Patience(this.place), lost: "", deleted: new Set() };
    for (;;) {
      const answer = await call.patience.through(() => this.#step(call));
      if (answer) return answer;
    }
  }

  /** Executes one step; returns the answer if the order has ended. */
  async #step(call: Call): Promise<Ordered | undefined> {
    const { group, token, patience } = call;
    const look = await this.#look(group);
    const isOpen = look.notes.open?.token === token;
    // This call was about to end its order without an instance, and another process has ended the order meanwhile.
    if (call.lost !== "" && !isOpen) return { outcome: "NoCapacity", says: call.lost };
    const step = nextStep(look, token);
    if (step.do === "TakeBack" && isOpen) call.lost = step.says;
    if (step.do === "Tell") return told(look, step.id, token);
    const says = step.do === "Raise"
      ? await this.#raise(look, { token, bound: step.bound })
      : await this.#goOn(step, look, call);
    const isOwn = step.do === "Raise" || isOpen;
    if (says !== undefined && isOwn) return { outcome: "NoCapacity", says };
    const attempt = `Failed to order an instance of "${nameOf(look.set)}"`;
    if (step.do !== "Wait") patience.check(`${attempt}: the order is in progress but not complete yet`);
    else if (isOwn) await patience.rest(`${attempt}: ${step.says}`);
    else throw unavailable(`${attempt}: ${step.says}`);
    return undefined;
  }

  /**
   * Reads the set first: if it changes while its instances are listed, a later write fails because its ETag is
   * outdated.
   */
  async #look(group: string): Promise<Look> {
    const set = await this.sets.need(group);
    const notes = notesOf(set.tags);
    const vms = await this.sets.vms(set);
    const lack = notes.open ? await this.sets.lackOf(set) : "";
    return { set, notes, size: groupOf(set).size, vms, lack, now: Date.now() };
  }

  /** Executes a step; returns the cause if the open order ended without an instance. */
  async #goOn(step: OpenStep, look: Look, { deleted }: Call): Promise<string | undefined> {
    const { set, notes, notes: { open } } = look;
    if (!open || step.do === "Wait") return undefined;
    if (step.do === "Bind") {
      await this.#write(look, { ...notes, open: undefined, orders: boundTo(notes, step.id) });
      return undefined;
    }
    if (step.do === "Condemn") {
      await this.#write(look, { ...notes, open: { ...open, failed: { id: step.id, code: step.code } } });
      return undefined;
    }
    if (step.do === "Withdraw") await this.#write(look, { ...notes, open: undefined }, step.size);
    else {
      if (!deleted.has(step.id)) await this.#delete(set, step.id);
      deleted.add(step.id);
      // The deletion changed the set, so the previous read is out of date.
      const now = await this.sets.need(set.id ?? "");
      if (notesOf(now.tags).open?.token !== open.token) return undefined;
      await this.#write({ ...look, set: now }, { ...notesOf(now.tags), open: undefined });
    }
    return step.says;
  }

  /** Deletes an instance unless it is being deleted; reads it by id, because a list may have missed it. */
  async #delete(set: VirtualMachineScaleSet, id: number): Promise<void> {
    const vm = await this.sets.vm(set, id);
    if (vm && !isGoing(vm)) await this.sets.delete(set, id);
  }

  /**
   * Raises the size, and records the order and the instance of the previous one, in one request. Returns the cause if
   * capacity is missing.
   */
  async #raise(
    { set, notes, size, vms, now }: Look,
    { token, bound }: { token: string; bound: number | undefined },
  ): Promise<string | undefined> {
    const { max } = groupOf(set);
    if (size >= max) {
      const state = `the scale set has its maximum of ${counted(size, "instance")}`;
      throw refused("CloudRefused", `Failed to order an instance of "${nameOf(set)}": ${state}`);
    }
    const orders = kept(bound === undefined ? notes.orders : boundTo(notes, bound), vms);
    checkRoom(set.tags, { ...notes, orders }, token);
    const open = { token, after: Math.max(-1, ...vms.map(idOf)), since: now };
    const tags = tagsWith(set.tags, { ...notes, open, orders });
    const outcome = await this.sets.patch(set, { sku: { ...set.sku, capacity: size + 1 }, tags });
    return outcome.is === "NoRoom" ? outcome.says : undefined;
  }

  async #write({ set, vms, size: before }: Look, notes: Notes, size = before): Promise<void> {
    const tags = tagsWith(set.tags, { ...notes, orders: kept(notes.orders, vms) });
    const sku = size === before ? {} : { sku: { ...set.sku, capacity: size } };
    settled(set, await this.sets.patch(set, { ...sku, tags }));
  }
}

/**
 * Returns the orders of existing instances, and the latest orders whose instances were deleted, so that repeating one
 * of those orders does not create a second instance.
 */
function kept(orders: Notes["orders"], vms: Look["vms"]): Notes["orders"] {
  const ids = new Set(vms.map(idOf));
  const gone = [...orders.keys()].filter((id) => !ids.has(id)).sort((a, b) => b - a).slice(remembered);
  return new Map([...orders].filter(([id]) => !gone.includes(id)));
}

function told({ set, vms }: Look, id: number, token: string): Ordered {
  const vm = vms.find((each) => idOf(each) === id);
  return { outcome: "Ordered", instance: vm ? instanceOf(set, vm, token) : unseen(set, id, token) };
}

/**
 * Throws Transient if Azure reports missing capacity for a change that creates no instance, and so needs no capacity.
 */
function settled(set: VirtualMachineScaleSet, outcome: Outcome): void {
  if (outcome.is === "NoRoom") throw unavailable(`Failed to update scale set "${nameOf(set)}": ${outcome.says}`);
}
