/**
 * Records orders and removals in tags of the scale set: the open order, removed instances that must be replaced, and
 * the order of each instance. A set can have 50 tags of 256 characters, so orders whose tokens begin alike share a
 * tag.
 */
import { refused } from "../../failures.ts";

/** An order whose instance is not known yet. */
export interface OpenOrder {
  token: string;
  /** Highest id of the instances that existed before the order; ids only increase. */
  after: number;
  /** Time of the order (epoch ms, in whole seconds). */
  since: number;
  /** The order's instance that failed for lack of capacity and is to be deleted, and Azure's code of that failure. */
  failed?: { id: number; code: string };
}

export interface Notes {
  open: OpenOrder | undefined;
  /** Ids of instances that are deleted, or soon will be, and that the set must replace. */
  makeUpFor: number[];
  /** Tokens of orders by the ids of their instances. */
  orders: ReadonlyMap<number, string>;
}

type Tags = Record<string, string>;

const [openTag, makeUpTag, ordersTag] = ["ostler-open-order", "ostler-make-up-for", "ostler-orders-"];
const [longest, most] = [256, 50];

export function notesOf(tags: Tags = {}): Notes {
  const open = openIn(tags[openTag] ?? "");
  const makeUpFor = (tags[makeUpTag] ?? "").split(" ").filter(Boolean).map(Number);
  const orders = new Map(Object.entries(tags).filter(([key]) => key.startsWith(ordersTag)).flatMap(ordersIn));
  return { open, makeUpFor, orders };
}

function openIn(text: string): OpenOrder | undefined {
  const [, after, since, id, code, token] = /^(-?\d+) (\d+)(?:!(\d+):(\w+))? (.+)$/.exec(text) ?? [];
  if (token === undefined) return undefined;
  const failed = code === undefined ? {} : { failed: { id: Number(id), code } };
  return { token, after: Number(after), since: Number(since) * 1_000, ...failed };
}

function textOf({ token, after, since, failed }: OpenOrder): string {
  return `${after} ${Math.floor(since / 1_000)}${failed ? `!${failed.id}:${failed.code}` : ""} ${token}`;
}

/** Returns the tokens of all orders by instance, with the open order assigned to instance `id`. */
export function boundTo({ open, orders }: Notes, id: number): Notes["orders"] {
  return open ? new Map([...orders, [id, open.token]]) : orders;
}

/** Returns the tags of a set with these notes instead of the previous ones. Throws Refused beyond Azure's limits. */
export function tagsWith(tags: Tags = {}, { open, makeUpFor, orders }: Notes): Tags {
  const isOurs = (key: string): boolean => [openTag, makeUpTag].includes(key) || key.startsWith(ordersTag);
  const others = Object.entries(tags).filter(([key]) => !isOurs(key));
  const own = [
    ...(open ? [[openTag, textOf(open)]] : []),
    ...(makeUpFor.length > 0 ? [[makeUpTag, makeUpFor.join(" ")]] : []),
    ...valuesOf(orders).map((value, index) => [`${ordersTag}${index + 1}`, value]),
  ] as [string, string][];
  const all = [...others, ...own];
  if (all.length <= most && own.every(([, value]) => value.length <= longest)) return Object.fromEntries(all);
  const remedy = "remove other tags, or shorten the ScalingGroup's name";
  const state = `${most} tags of at most ${longest} characters do not suffice; ${remedy}`;
  throw refused("CloudRefused", `Failed to record an order in the tags of a scale set: ${state}`);
}

/** Throws Refused unless the tags have room for all records of an order; called before the order is placed. */
export function checkRoom(tags: Tags | undefined, notes: Notes, token: string): void {
  const longestId = 999_999_999;
  const failed = { id: longestId, code: "OverconstrainedZonalAllocationRequest" };
  const open = { token, after: longestId, since: Date.now(), failed };
  tagsWith(tags, { ...notes, open, orders: new Map([...notes.orders, [longestId, token]]) });
}

/**
 * Returns the values of the tags, each as "<beginning>:<end>@<id>,<end>@<id>…" for tokens that begin alike. The output
 * of `encodeURIComponent` contains none of these separators.
 */
function valuesOf(orders: ReadonlyMap<number, string>): string[] {
  const values: string[] = [];
  const latest = new Map<string, number>();
  for (const [id, token] of orders) {
    const at = token.lastIndexOf("-") + 1;
    const [stem, end] = [token.slice(0, at), token.slice(at)].map(encodeURIComponent) as [string, string];
    const index = latest.get(stem);
    const longer = index === undefined ? undefined : `${values[index]},${end}@${id}`;
    if (index !== undefined && longer !== undefined && longer.length <= longest) values[index] = longer;
    else latest.set(stem, values.push(`${stem}:${end}@${id}`) - 1);
  }
  return values;
}

function ordersIn([, value]: [string, string]): [number, string][] {
  const [stem = "", ends = ""] = value.split(":");
  return ends.split(",").flatMap((each): [number, string][] => {
    const [end, id] = each.split("@");
    // Ignores values that other clients wrote.
    return end === undefined || !/^\d+$/.test(id ?? "") ? [] : [[Number(id), `${decoded(stem)}${decoded(end)}`]];
  });
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
