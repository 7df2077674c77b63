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

/** PostgreSQL's programs. */
export interface PostgresTools {
  readonly postgres: string;
  readonly initdb: string;
  readonly psql: string;
}

/** A PostgreSQL on loopback that trusts whoever connects: on a machine of one's own, for as long as a stack lives. */
export interface Postgres {
  readonly port: number;
  readonly user: string;
  /** Holds its data; nobody but who started it removes it. */
  readonly directory: string;
}

/** PostgreSQL refuses to be root, and then becomes the user whom Debian's package makes for it. */
const debianUser = "postgres";
const user = "temporal";
const run = promisify(execFile);

/** Starts a server on an empty cluster of databases, which waits for the disk at each commit as anybody's does. */
export async function startPostgres(supervisor: Supervisor, tools: PostgresTools): Promise<Postgres> {
  const directory = await mkdtemp(join(tmpdir(), "ostler-postgres-"));
  try {
    const become = await whoeverOwns(directory);
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

/** Gives the directory to who may run PostgreSQL; returns what to put before a command that is to be run as that user. */
async function whoeverOwns(directory: string): Promise<string[]> {
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
