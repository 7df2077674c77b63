/** Starts Temporal on PostgreSQL in place of its dev server, on hosts where PostgreSQL is installed. */
import { glob, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Supervisor } from "../process/supervisor.ts";
import type { PostgresTools } from "./postgres.ts";
import { startTemporalOnPostgres } from "./temporal_on_postgres.ts";
import type { TemporalServer } from "./temporal_server.ts";
import { resolveTools } from "../tools/resolve_tools.ts";

/** Starts Temporal servers on PostgreSQL; `remove`, called after their processes have stopped, deletes their data. */
export interface LentTemporal {
  start(supervisor: Supervisor): Promise<TemporalServer>;
  remove(): Promise<void>;
}

/**
 * Returns PostgreSQL's programs from the folder of Debian's package, which is not on PATH; undefined if the package is
 * not installed.
 */
export async function findPostgres(): Promise<PostgresTools | undefined> {
  const [postgres] = await Array.fromAsync(glob("/usr/lib/postgresql/*/bin/postgres"));
  if (postgres === undefined) return undefined;
  const folder = dirname(postgres);
  return { postgres, initdb: join(folder, "initdb"), psql: join(folder, "psql") };
}

/** Finds the programs of the server, or builds them, which takes minutes; `start` of the result starts a server. */
export async function lendTemporal(postgres: PostgresTools): Promise<LentTemporal> {
  const tools = await resolveTools(["temporal", "temporal-server", "temporal-sql-tool"]);
  const directories: string[] = [];
  return {
    start: (supervisor) =>
      startTemporalOnPostgres(supervisor, { ...tools, ...postgres }, (directory) => directories.push(directory)),
    remove: async () => {
      for (const directory of directories) await rm(directory, { recursive: true, force: true });
    },
  };
}
