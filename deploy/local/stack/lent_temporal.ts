/** Temporal on PostgreSQL instead of the dev server, where PostgreSQL is installed. */
import { glob, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Supervisor } from "../process/supervisor.ts";
import type { PostgresTools } from "./postgres.ts";
import { startTemporalOnPostgres } from "./temporal_on_postgres.ts";
import type { TemporalServer } from "./temporal_server.ts";
import { resolveTools } from "../tools/resolve_tools.ts";

/** What is lent, and taken back when nothing of it runs any more. */
export interface LentTemporal {
  start(supervisor: Supervisor): Promise<TemporalServer>;
  remove(): Promise<void>;
}

/** PostgreSQL's programs as Debian's package lays them, which leaves them off the path; nothing where it is absent. */
export async function findPostgres(): Promise<PostgresTools | undefined> {
  const [postgres] = await Array.fromAsync(glob("/usr/lib/postgresql/*/bin/postgres"));
  if (postgres === undefined) return undefined;
  const folder = dirname(postgres);
  return { postgres, initdb: join(folder, "initdb"), psql: join(folder, "psql") };
}

/** Builds the server first, where that was not done yet: it takes minutes. */
export async function lendTemporal(postgres: PostgresTools): Promise<LentTemporal> {
  const tools = await resolveTools(["temporal", "temporal-server", "temporal-sql-tool"]);
  const directories: string[] = [];
  return {
    start: async (supervisor) => {
      const temporal = await startTemporalOnPostgres(supervisor, { ...tools, ...postgres });
      directories.push(temporal.postgres.directory);
      return temporal;
    },
    remove: async () => {
      for (const directory of directories) await rm(directory, { recursive: true, force: true });
    },
  };
}
