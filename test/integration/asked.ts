/** The requests of Ostler's processes to the API server, counted in its audit log. */
import { open, stat } from "node:fs/promises";
import { auditLogPath } from "../../deploy/local/stack/api_server.ts";
import type { World } from "./world.ts";

const account = "system:serviceaccount:ostler-system:ostler-";

/** The user names of controller and worker; Temporal sends no requests to the API server. */
export const ourUsers = [`${account}controller`, `${account}worker`];

/** One request to the API server; a watch counts once, however long it is open. */
export interface Asked {
  /** The process that sent the request: "controller" or "worker". */
  by: string;
  verb: string;
  /** Path of the request without its query. */
  path: string;
  /** Resource and subresource, such as "secrets" or "rollouts/status". */
  resource: string;
}

interface AuditEvent {
  auditID: string;
  verb: string;
  requestURI: string;
  user: { username: string };
  objectRef?: { resource?: string; subresource?: string };
}

/** Returns the length of the audit log in bytes: later requests are logged after this offset. */
export async function askedBytes(world: World): Promise<number> {
  return (await stat(auditLogPath(world.site.stack.directory))).size;
}

/** Returns the requests of Ostler's processes after byte `from` of the log. */
export async function askedSince(world: World, from: number): Promise<Asked[]> {
  const text = await readFrom(auditLogPath(world.site.stack.directory), from);
  // The last line may be incomplete.
  const events = text.slice(0, text.lastIndexOf("\n") + 1).split("\n").filter(Boolean)
    .map((line) => JSON.parse(line) as AuditEvent);
  const own = events.filter(({ user }) => ourUsers.includes(user.username));
  return [...new Map(own.map((event) => [event.auditID, event])).values()].map(askedBy);
}

function askedBy({ user, verb, requestURI, objectRef }: AuditEvent): Asked {
  return {
    by: user.username.slice(account.length),
    verb,
    path: requestURI.split("?")[0] ?? "",
    resource: [objectRef?.resource, objectRef?.subresource].filter(Boolean).join("/"),
  };
}

async function readFrom(path: string, from: number): Promise<string> {
  await using file = await open(path);
  const { size } = await file.stat();
  if (size < from) throw new Error(`Failed to read "${path}" from byte ${from}: the file was replaced`);
  const bytes = new Uint8Array(size - from);
  const { bytesRead } = await file.read(bytes, 0, bytes.length, from);
  return new TextDecoder().decode(bytes.subarray(0, bytesRead));
}

/** Returns all logged requests of Ostler's processes, as "user verb path". */
export async function asked(world: World): Promise<string[]> {
  return (await askedSince(world, 0)).map(({ by, verb, path }) => `${by} ${verb} ${path}`);
}

/**
 * Whether a process sends this request even when nothing changes: for its lease, or once a minute for the identity of
 * the cluster.
 */
export function isOfProcess(request: string): boolean {
  return request.includes("/leases") || request.endsWith(" get /api/v1/namespaces/kube-system");
}

/** Returns the requests as "user verb path", without those that each process sends even when nothing changes. */
export async function askedForWork(world: World): Promise<string[]> {
  return (await asked(world)).filter((request) => !isOfProcess(request));
}

const quietMs = 4_000;

/** Waits until the processes have sent, for a while, only those requests that they send even when nothing changes. */
export async function untilQuiet(world: World): Promise<void> {
  let [known, since] = [-1, Date.now()];
  await world.until("quiet", async () => {
    const { length } = await askedForWork(world);
    if (length !== known) [known, since] = [length, Date.now()];
    return Date.now() - since >= quietMs;
  }, 120);
}
