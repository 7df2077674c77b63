/** Reads times, texts and pages in the answers of Temporal's gRPC services. */
import { type Payload, valueOf } from "../connect/payload.ts";
import type { Server } from "../connect/server.ts";

/** The service for workflows, Schedules and task queues. */
export type Service = Server["service"]["workflowService"];
type Described = Awaited<ReturnType<Service["describeSchedule"]>>;

/** A protobuf timestamp. */
type Stamp = NonNullable<NonNullable<Described["info"]>["createTime"]>;

/** Returns epoch ms; undefined without a time. */
export function timeOf(stamp: Stamp | null | undefined): number | undefined {
  const { seconds, nanos } = stamp ?? {};
  const at = Number(seconds ?? 0) * 1000 + Math.floor((nanos ?? 0) / 1_000_000);
  return at > 0 ? at : undefined;
}

/** Returns a decoded text; "" for other values. */
export function textOf(payload: Payload | null | undefined): string {
  const value = valueOf(payload);
  return typeof value === "string" ? value : "";
}

/** Returns the items of all pages of a list; stops after the page that reaches `most` items. */
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
