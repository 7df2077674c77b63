import { execFile } from "node:child_process";
import { chown, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { startOnFreePorts } from "../process/start_on_free_ports.ts";
import type { ProcessSpec } from "../process/supervised_process.ts";
import type { Supervisor } from "../process/supervisor.ts";
import type { Probe } from "../process/wait_until.ts";

/** Paths of PostgreSQL's programs. */
export interface PostgresTools {
  readonly postgres: string;
  readonly initdb: string;
  readonly psql: string;
}

/** A PostgreSQL server on loopback without authentication, for the lifetime of a local stack. */
export interface Postgres {
  readonly port: number;
  readonly user: string;
  /** Folder of the data; the caller that started the server removes it. */
  readonly directory: string;
}

/** PostgreSQL refuses to run as root, so root runs it as the user that Debian's package creates. */
const debianUser = "postgres";
const user = "temporal";
const run = promisify(execFile);

/**
 * Starts a server with an empty database cluster; as in production, the server writes each commit to disk before it
 * responds.
 */
export async function startPostgres(supervisor: Supervisor, tools: PostgresTools): Promise<Postgres> {
  const directory = await mkdtemp(join(tmpdir(), "ostler-postgres-"));
  try {
    const become = await commandPrefixFor(directory);
    const data = join(directory, "data");
    const [command = "", ...args] = [...become, tools.initdb, `--pgdata=${data}`, `--username=${user}`, "--auth=trust"];
    await run(command, args);
    const { ports } = await startOnFreePorts(supervisor, {
      ports: ["sql"],
      spec: ({ sql }) => postgresSpec([...become, tools.postgres, "-D", data], { port: sql, psql: tools.psql }),
    });
    return { port: ports.sql, user, directory };
  } catch (error) {
    await rm(directory, { recursive: true, force: true });
    throw error;
  }
}

/** Changes the directory's owner to the user that runs PostgreSQL; returns the command prefix to run as that user. */
async function commandPrefixFor(directory: string): Promise<string[]> {
  if (process.getuid?.() !== 0) return [];
  const [uid, gid] = await Promise.all(["--user", "--group"].map(async (which) => {
    return Number((await run("id", [which, debianUser])).stdout);
  })) as [number, number];
  await chown(directory, uid, gid);
  return ["setpriv", `--reuid=${uid}`, `--regid=${gid}`, "--clear-groups", "--"];
}

function postgresSpec(
  [command = "", ...args]: readonly string[],
  { port, psql }: { port: number; psql: string },
): ProcessSpec {
  return {
    name: "postgres",
    command,
    args: [...args, "-p", String(port), "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="],
    ready: answers(psql, port),
    readyTimeoutMs: 30_000,
  };
}

function answers(psql: string, port: number): Probe {
  const url = `postgresql://${user}@127.0.0.1:${port}/postgres`;
  return async (signal) => void await run(psql, ["--no-psqlrc", "--command=select 1", url], { signal });
}
