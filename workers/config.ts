/** The settings of a process, read from arguments, environment and a file: the only place that looks at them. */
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
  /** Where Temporal is, with what lets a process in: never to be logged. */
  temporal: TemporalServer;
  /** What the machines are rendered with. */
  node: NodeSettings;
  /** What was set and has no effect. */
  warnings: string[];
}

/** Reads the settings of a process, or throws one error that names every wrong one. */
export function readConfig(env: Record<string, string | undefined>, argv: string[] = []): Config {
  const file = readSettingsFile(env, argv);
  const { values, faults, warnings, rest, restOfFile } = readSettings(All, { argv, env, file }, readText);
  refuseFaults([
    // Without its value: that may be a login.
    ...rest.map((argument) =>
      argument.startsWith("-") ? `"${argument.split("=")[0]}": there is no such flag` : `"${argument}": it has no flag`
    ),
    ...faults,
    ...restOfFile.map((key) => `${key} in the file: there is no such setting`),
  ]);
  refuseFaults(conflictsOf(values));
  // Else whoever writes a policy could have it sent to himself.
  const isTokenForAnybody = values.prometheusTokenFile !== "" && values.prometheusHosts.length === 0;
  refuseFaults(isTokenForAnybody ? ["prometheus-token-file: prometheus-hosts must say to whom it may be sent"] : []);
  refuseFaults(cloudFaults(values));
  const { temporalAddress, temporalNamespace, ...processes } = pick(ProcessSettings, values);
  const taskQueue = processes.taskQueue || taskQueueOf(processes.cluster);
  const temporal = readTemporalServer(env, { temporalAddress, temporalNamespace });
  return { ...processes, temporal, taskQueue, node: pick(NodeSettings, values), warnings };
}

/** Returns the deadlines that an administrator has set for all rollouts. */
export function givenDeadlines(config: Pick<Config, "deadlines">): { deadlines?: Config["deadlines"] } {
  return Object.keys(config.deadlines).length > 0 ? { deadlines: config.deadlines } : {};
}

/** How many requests a process may make of the API server. */
export function rateOf({ kubeApiQps, kubeApiBurst }: Config): Rate {
  return { qps: kubeApiQps, burst: kubeApiBurst };
}

function readSettingsFile(env: Record<string, string | undefined>, argv: string[]): Record<string, unknown> {
  const { config: path } = readSettings(ProcessSettings.pick({ config: true }), { argv, env }, readText).values;
  if (!path) return {};
  try {
    return z.record(z.string(), z.unknown()).parse(loadYaml(readText(path)) ?? {});
  } catch (error) {
    const why = (error as { code?: string }).code ?? "it must be a YAML mapping of settings";
    throw new Error(`Cannot read the settings from "${path}": ${why}`);
  }
}

function readText(path: string): string {
  return readFileSync(path, "utf8");
}

function pick<Shape extends z.ZodRawShape>(schema: z.ZodObject<Shape>, values: object): z.infer<z.ZodObject<Shape>> {
  const names = Object.keys(schema.shape);
  return Object.fromEntries(Object.entries(values).filter(([name]) => names.includes(name))) as never;
}
