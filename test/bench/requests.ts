/** Requests of a user to the API server, counted in its own audit log. */
import { readFile, stat } from "node:fs/promises";
import { auditLogPath } from "../../deploy/local/stack/api_server.ts";
import type { Stack } from "../../deploy/local/stack/stack.ts";
import { isOfProcess } from "../integration/asked.ts";

interface AuditEvent {
  auditID: string;
  verb: string;
  requestURI: string;
  user: { username: string };
}

/** The length of the log in bytes. */
export async function loggedBytes({ directory }: Pick<Stack, "directory">): Promise<number> {
  return (await stat(auditLogPath(directory))).size;
}

/**
 * The number of these users' requests after byte `from` of the log, without the requests that each process sends even
 * when nothing changes, such as those for its lease.
 */
export async function requestsSince(
  { directory }: Pick<Stack, "directory">,
  { from, users }: { from: number; users: readonly string[] },
): Promise<number> {
  const log = (await readFile(auditLogPath(directory))).subarray(from).toString();
  const lines = log.slice(0, log.lastIndexOf("\n") + 1).split("\n").filter((line) => line !== "");
  const events = lines.map((line) => JSON.parse(line) as AuditEvent);
  const own = events.filter(({ user, verb, requestURI }) => {
    return users.includes(user.username) && !isOfProcess(`${user.username} ${verb} ${requestURI.split("?")[0]}`);
  });
  // The audit log has two events of a watch, when it begins and when it ends, with the same ID: they count once.
  return new Set(own.map(({ auditID }) => auditID)).size;
}
