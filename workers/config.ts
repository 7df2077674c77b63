/** The settings of a process, from arguments, environment and a file; no other module reads these. */
import { readFileSync } from "node:fs";
import { z } from "zod";
import { loadYaml } from "../activities/kube/client_node.ts";
import type { Rate } from "../activities/kube/paced_http.ts";
import { conflictsOf, NodeSettings } from "../profiles/node_settings.ts";
import { refuseFaults } from "../profiles/settings/read_node_settings.ts";
import { readSettings } from "../profiles/settings/read_settings.ts";
import { taskQueueOf } from "../workflows/commands/start_options.ts";
import { cloudFaults } from "./open_cloud.ts";
import { OsmSettings, ProcessSettings } from "./process_settings.ts";
import { readTemporalServer, type TemporalServer } from "../activities/temporal/temporal_server.ts";

const All = z.object({ ...ProcessSettings.shape, ...NodeSettings.shape, ...OsmSettings.shape });

export interface Config extends Omit<z.infer<typeof ProcessSettings>, "temporalAddress" | "temporalNamespace"> {
  /** The location of Temporal with credentials: never log this. */
  temporal: TemporalServer;
  /** The settings of machines. */
  node: NodeSettings;
  /** Messages about settings that have no effect. */
  warnings: string[];
}

/** Reads the settings of a process; throws one error that names every invalid setting. */
export function readConfig(env: Record<string, string | undefined>, argv: string[] = []): Config {
  const file = readSettingsFile(env, argv);
  const { values, faults, warnings, rest, restOfFile } = readSettings(All, { argv, env, file }, readText);
  refuseFaults([
    // The value is left out, because it may be a credential.
    ...rest.map((argument) =>
      argument.startsWith("-") ? `"${argument.split("=")[0]}": unknown flag` : `"${argument}": expected a flag`
    ),
    ...faults,
    ...restOfFile.map((key) => `${key} in the file: unknown setting`),
  ]);
  refuseFaults(conflictsOf(values));
  // Without this check, any author of a policy could have the token sent to a host of their choice.
  const isTokenForAnybody = values.prometheusTokenFile !== "" && values.prometheusHosts.length === 0;
  refuseFaults(
    isTokenForAnybody ? ["prometheus-token-file: prometheus-hosts must list the hosts that may get the token"] : [],
  );
  refuseFaults(cloudFaults(values));
  // Together, these settings would let authors of MachineDeployments read the cloud's credentials on a machine.
  const isShared = values.providerEnvironment && values.cloud !== "";
  refuseFaults(
    isShared ? ["provider-environment: must be false with a cloud, because machines would get its credentials"] : [],
  );
  const { temporalAddress, temporalNamespace, ...processes } = pick(ProcessSettings, values);
  const taskQueue = processes.taskQueue || taskQueueOf(processes.cluster);
  const temporal = readTemporalServer(env, { temporalAddress, temporalNamespace });
  return { ...processes, temporal, taskQueue, node: pick(NodeSettings, values), warnings };
}

/** Returns the deadlines that an administrator has set for all rollouts; an empty object without any. */
export function givenDeadlines(config: Pick<Config, "deadlines">): { deadlines?: Config["deadlines"] } {
  return Object.keys(config.deadlines).length > 0 ? { deadlines: config.deadlines } : {};
}

/** Returns the rate limit for requests to the API server. */
export function rateOf({ kubeApiQps, kubeApiBurst }: Config): Rate {
  return { qps: kubeApiQps, burst: kubeApiBurst };
}

function readSettingsFile(env: Record<string, string | undefined>, argv: string[]): Record<string, unknown> {
  const { config: path } = readSettings(ProcessSettings.pick({ config: true }), { argv, env }, readText).values;
  if (!path) return {};
  try {
    return z.record(z.string(), z.unknown()).parse(loadYaml(readText(path)) ?? {});
  } catch (error) {
    const why = (error as { code?: string }).code ?? "expected a YAML mapping of settings";
    throw new Error(`Failed to read the settings from "${path}": ${why}`);
  }
}

function readText(path: string): string {
  return readFileSync(path, "utf8");
}

function pick<Shape extends z.ZodRawShape>(schema: z.ZodObject<Shape>, values: object): z.infer<z.ZodObject<Shape>> {
  const names = Object.keys(schema.shape);
  return Object.fromEntries(Object.entries(values).filter(([name]) => names.includes(name))) as never;
}
