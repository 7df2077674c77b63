/** What our processes ask of the API server, counted in its own log. */
import { readFile } from "node:fs/promises";
import { auditLogPath } from "../../deploy/local/stack/audit_log.ts";
import type { World } from "./world.ts";

const account = "system:serviceaccount:ostler-system:ostler-";

/** Controller and worker: Temporal asks nothing by itself. */
export const ourUsers = [`${account}controller`, `${account}worker`];

interface AuditEvent {
  auditID: string;
  verb: string;
  requestURI: string;
  user: { username: string };
}

/** Requests as "user verb path"; a watch that stays open counts once. */
export async function asked(world: World): Promise<string[]> {
  const text = await readFile(auditLogPath(world.site.stack.directory), "utf8");
  // The last line may be on its way.
  const events = text.slice(0, text.lastIndexOf("\n") + 1).split("\n").filter(Boolean)
    .map((line) => JSON.parse(line) as AuditEvent);
  const own = events.filter(({ user }) => ourUsers.includes(user.username));
  const byId = new Map(own.map((event) => [event.auditID, event]));
  return [...byId.values()].map(({ user, verb, requestURI }) =>
    `${user.username.slice(account.length)} ${verb} ${requestURI.split("?")[0]}`
  );
}

/** What each process asks whatever is done: for its lease, and once a minute whose API server this is. */
export function isOfProcess(request: string): boolean {
  return request.includes("/leases") || request.endsWith(" get /api/v1/namespaces/kube-system");
}

/** The same without what processes ask for themselves. */
export async function askedForWork(world: World): Promise<string[]> {
  return (await asked(world)).filter((request) => !isOfProcess(request));
}

const quietMs = 4_000;

/** Waits until our processes have asked for nothing but for themselves for a while. */
export async function untilQuiet(world: World): Promise<void> {
  let [known, since] = [-1, Date.now()];
  await world.until("quiet", async () => {
    const { length } = await askedForWork(world);
    if (length !== known) [known, since] = [length, Date.now()];
    return Date.now() - since >= quietMs;
  }, 120);
}
