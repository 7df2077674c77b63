/** Temporal as in production: its server on PostgreSQL, with the schema that `temporal-sql-tool` creates. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { httpProbe } from "../process/http_probe.ts";
import { startOnFreePorts } from "../process/start_on_free_ports.ts";
import type { ProcessSpec } from "../process/supervised_process.ts";
import type { Supervisor } from "../process/supervisor.ts";
import { type Postgres, type PostgresTools, startPostgres } from "./postgres.ts";
import type { TemporalServer } from "./temporal_server.ts";

interface TemporalOnPostgresTools extends PostgresTools {
  readonly "temporal-server": string;
  readonly "temporal-sql-tool": string;
  /** Path of the CLI, which creates the namespace. */
  readonly temporal: string;
}

interface TemporalOnPostgres extends TemporalServer {
  readonly postgres: Postgres;
}

const namespace = "default";
const configFolder = fileURLToPath(new URL("temporal", import.meta.url));
/** Names of ports; each is an environment variable in `temporal/postgres.yaml`. */
const portNames = [
  ...["FRONTEND", "FRONTEND_HTTP", "FRONTEND_MEMBERS", "HISTORY", "HISTORY_MEMBERS"] as const,
  ...["MATCHING", "MATCHING_MEMBERS", "WORKER", "WORKER_MEMBERS"] as const,
];
const run = promisify(execFile);

/**
 * Starts PostgreSQL and Temporal and resolves when the namespace exists. There is no web UI, which is a separate
 * program. `told` receives the folder of PostgreSQL's data as soon as it exists, also if a later step fails.
 */
export async function startTemporalOnPostgres(
  supervisor: Supervisor,
  tools: TemporalOnPostgresTools,
  told: (directory: string) => void = () => {},
): Promise<TemporalOnPostgres> {
  const postgres = await startPostgres(supervisor, tools);
  told(postgres.directory);
  await makeSchema(tools["temporal-sql-tool"], postgres, { database: "temporal", schema: "temporal" });
  await makeSchema(tools["temporal-sql-tool"], postgres, { database: "visibility", schema: "visibility" });
  const { ports } = await startOnFreePorts(supervisor, {
    ports: portNames,
    spec: (ports) => serverSpec(tools["temporal-server"], postgres, ports),
  });
  const address = `127.0.0.1:${ports.FRONTEND}`;
  await run(tools.temporal, ["operator", "namespace", "create", "--address", address, "--retention", "72h", namespace]);
  return { address, uiUrl: "", namespace, postgres };
}

interface Schema {
  database: string;
  schema: string;
}

async function makeSchema(tool: string, { port, user }: Postgres, { database, schema }: Schema): Promise<void> {
  const where = ["--plugin=postgres12", "--endpoint=127.0.0.1", `--port=${port}`, `--user=${user}`];
  await run(tool, [...where, `--database=${database}`, "create-database"]);
  await run(tool, [...where, `--database=${database}`, "setup-schema", "--version=0.0"]);
  await run(tool, [...where, `--database=${database}`, "update-schema", `--schema-name=postgresql/v12/${schema}`]);
}

function serverSpec(
  command: string,
  { port, user }: Postgres,
  ports: Readonly<Record<typeof portNames[number], number>>,
): ProcessSpec {
  const texts = Object.fromEntries(Object.entries(ports).map(([name, number]) => [name, String(number)]));
  return {
    name: "temporal",
    command,
    args: [`--root=${configFolder}`, "--config=.", "--env=postgres", "--allow-no-auth", "start"],
    env: { ...texts, SQL_PORT: String(port), SQL_USER: user },
    ready: httpProbe({ url: `http://127.0.0.1:${ports.FRONTEND_HTTP}/api/v1/system-info` }),
  };
}
