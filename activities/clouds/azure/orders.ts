/**
 * Executes the steps of `order_step.ts` until the order has its instance, capacity is missing, or the order takes too
 * long.
 */
import type { VirtualMachineScaleSet } from "@azure/arm-compute";
import { refused, unavailable } from "../../failures.ts";
import type { Ordered } from "../driver.ts";
import type { Outcome } from "./api.ts";
import { idOf, instanceOf, unseen } from "./instance_of.ts";
import { boundTo, checkRoom, type Notes, notesOf, type OpenOrder, tagsWith } from "./notes.ts";
import { nextStep, type Sight, type Step } from "./order_step.ts";
import { Patience } from "./patience.ts";
import { groupOf, nameOf, type ScaleSets } from "./scale_sets.ts";

interface Look extends Sight {
  set: VirtualMachineScaleSet;
}

/** Maximum number of remembered orders whose instances are deleted. */
const remembered = 30;

/** The steps of an open order. */
type OpenStep = Exclude<Step, { do: "Tell" | "Raise" }>;

export class AzureOrders {
  constructor(private readonly sets: ScaleSets, private readonly signal: AbortSignal | undefined) {}

  async order({ group, token }: { group: string; token: string }): Promise<Ordered> {
    const patience = new Patience(this.signal);
    for (;;) {
      const look = await this.#look(group);
      const step = nextStep(look, token);
      if (step.do === "Tell") return told(look, step.id, token);
      const says = step.do === "Raise"
        ? await this.#raise(look, { token, bound: step.bound })
        : await this.#goOn(step, look);
      const isOwn = step.do === "Raise" || look.notes.open?.token === token;
      if (says !== undefined && isOwn) return { outcome: "NoCapacity", says };
      const attempt = `Failed to order an instance of "${nameOf(look.set)}"`;
      if (step.do !== "Wait") patience.check(`${attempt}: the scale set keeps changing`);
      else if (isOwn) await patience.rest(`${attempt}: ${step.says}`);
      else throw unavailable(`${attempt}: ${step.says}`);
    }
  }

  /** Reads the set first: if the set changes while its instances are listed, the write fails by its ETag. */
  async #look(group: string): Promise<Look> {
    const set = await this.sets.need(group);
    const notes = notesOf(set.tags);
    const vms = await this.sets.vms(set);
    const lack = notes.open ? await this.sets.lackOf(set) : "";
    return { set, notes, size: groupOf(set).size, vms, lack, now: Date.now() };
  }

  /** Executes a step; returns the cause if the open order ended without an instance. */
  async #goOn(step: OpenStep, look: Look): Promise<string | undefined> {
    const { set, notes, notes: { open } } = look;
    if (!open || step.do === "Wait") return undefined;
    if (step.do === "Bind") {
      await this.#write(look, { ...notes, open: undefined, orders: boundTo(notes, step.id) });
      return undefined;
    }
    if (step.do === "Withdraw") await this.#write(look, { ...notes, open: undefined }, step.size);
    else await this.#takeBack(set, open, step.id);
    return step.says;
  }

  async #takeBack(set: VirtualMachineScaleSet, open: OpenOrder, id: number): Promise<void> {
    await this.sets.delete(set, id);
    // The deletion changed the set.
    const now = await this.sets.need(set.id ?? "");
    const notes = notesOf(now.tags);
    if (notes.open?.token !== open.token) return;
    settled(now, await this.sets.patch(now, { tags: tagsWith(now.tags, { ...notes, open: undefined }) }));
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
      const state = `the scale set has its maximum of ${size} instances`;
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
 * Returns the orders of existing instances and the latest others, so that repeating an order whose instance was deleted
 * does not create a second one.
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

/** Throws Transient for missing capacity, which cannot be the result of a change that creates nothing. */
function settled(set: VirtualMachineScaleSet, outcome: Outcome): void {
  if (outcome.is === "NoRoom") throw unavailable(`Failed to update scale set "${nameOf(set)}": ${outcome.says}`);
}
