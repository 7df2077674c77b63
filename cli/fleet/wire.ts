/** Values as Temporal's services give them. */
import { defaultPayloadConverter } from "@temporalio/common";
import type { Server } from "../connect/server.ts";

/** Its service of workflows, Schedules and task queues. */
export type Service = Server["service"]["workflowService"];
type Described = Awaited<ReturnType<Service["describeSchedule"]>>;

/** A time, as a request gives it. */
export type Stamp = NonNullable<NonNullable<Described["info"]>["createTime"]>;
type Memo = NonNullable<NonNullable<Described["memo"]>["fields"]>;

/** A value with how it is written down. */
export type Payload = Memo[string];

/** Epoch ms; undefined for none. */
export function timeOf(stamp: Stamp | null | undefined): number | undefined {
  const { seconds, nanos } = stamp ?? {};
  const at = Number(seconds ?? 0) * 1000 + Math.floor((nanos ?? 0) / 1_000_000);
  return at > 0 ? at : undefined;
}

/** What was written down; undefined for none, and for what cannot be read. */
export function valueOf(payload: Payload | null | undefined): unknown {
  if (!payload?.data) return undefined;
  try {
    return defaultPayloadConverter.fromPayload(payload);
  } catch {
    return undefined; // written by some other converter: nothing to show
  }
}

/** A text that was written down; "" for none. */
export function textOf(payload: Payload | null | undefined): string {
  const value = valueOf(payload);
  return typeof value === "string" ? value : "";
}

/** All pages of a list, until there are no more or `most` are there. */
export async function pagesOf<T>(
  most: number,
  read: (page: { nextPageToken?: Uint8Array }) => Promise<{ items: T[]; nextPageToken?: Uint8Array | null }>,
): Promise<T[]> {
  const found: T[] = [];
  let token: Uint8Array | null | undefined;
  do {
    const { items, nextPageToken } = await read(token?.length ? { nextPageToken: token } : {});
    found.push(...items);
    token = nextPageToken;
  } while (token?.length && found.length < most);
  return found;
}
