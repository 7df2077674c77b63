/** The configs that Ostler would publish, compared with the published ones, for `ostler adopt --dry-run`. */
import { resolve } from "node:path";
import {
  type ExpectedConfig,
  type ExpectedRenderer,
  type Published,
  readExpectedConfig,
  readExpectedProfiles,
} from "../../activities/handover/expected_config.ts";
import { type HandoverPool, keyOf } from "../../activities/handover/pools.ts";
import { readRendererProcess, type RendererProcess } from "../../activities/handover/renderer_settings.ts";
import { abreast } from "../../activities/kube/status.ts";
import { hidden, type NodeSettings, type OsConfig } from "../../profiles/mod.ts";
import { NodeSettings as shapeOfSettings } from "../../profiles/node_settings.ts";
import { readFlagArguments } from "../../profiles/settings/flag_arguments.ts";
import { readNodeSettings } from "../../profiles/settings/read_node_settings.ts";
import { flagOf, noteOf, variableOf } from "../../profiles/settings/setting.ts";
import { readFileBoundedSync } from "../bounded_text.ts";
import type { NamedCluster } from "../connect/cluster.ts";
import { machineFiles } from "../machine_files.ts";
import type { Terminal } from "../terminal.ts";
import { counted } from "../../workflows/policy/counted.ts";
import type { ConfigLine } from "./pool_line.ts";
import type { Telling } from "./telling.ts";

/** Pools that are rendered concurrently. */
const width = 8;

interface Expecting {
  pools: HandoverPool[];
  telling: Telling;
  flags: { argv: string[]; systemNamespace: string; profileNamespace: string };
}

/** Renders each pool as Ostler would, without writing anything, and reports changes, refusals and warnings. */
export async function tellConfigs(
  terminal: Terminal,
  cluster: NamedCluster,
  { pools, telling, flags }: Expecting,
): Promise<void> {
  const { kube, clusterCa = () => "" } = cluster;
  const { profileNamespace, systemNamespace } = flags;
  const process = await readRendererProcess(kube, systemNamespace);
  const settings = settingsOf(terminal, { process, argv: flags.argv, telling });
  if (settings === undefined) return;
  const profiles = await readExpectedProfiles(kube, { profileNamespace, isKept: keepsProfiles(process) });
  const renderer = { kube, profileNamespace, settings, clusterCa, environment: process?.env ?? {}, profiles };
  const present = pools.filter(({ deployment }) => deployment && !deployment.isLeaving);
  const lines = await renderAll(renderer, present, telling);
  telling.configs(lines);
  for (const { pool, refusal } of lines) {
    if (refusal === undefined) continue;
    const message = `Ostler would refuse its config (${refusal.reason}): ${refusal.message}`;
    telling.step({ about: `pool "${pool}"`, outcome: "Refused", message });
  }
}

async function renderAll(renderer: ExpectedRenderer, pools: HandoverPool[], telling: Telling): Promise<ConfigLine[]> {
  let done = 0;
  const lines = await abreast(width, pools, async (pool) => {
    const expected = await readExpectedConfig(renderer, pool);
    telling.progress("rendered", ++done, pools.length);
    return expected ? [lineOf(keyOf(pool), expected)] : [];
  });
  return lines.flat();
}

function lineOf(pool: string, expected: ExpectedConfig): ConfigLine {
  const { profile, profileVersion, config, published, refusal, warnings } = expected;
  const changes = config && published ? changesOf(published, config) : [];
  const words = refusal ? "refused" : published === undefined ? "new" : wordsOf(changes);
  return { pool, profile, profileVersion, config: words, changes, ...(refusal ? { refusal } : {}), warnings };
}

function wordsOf(changes: ConfigLine["changes"]): string {
  if (changes.length === 0) return "unchanged";
  const number = (change: string): number => changes.filter((each) => each.change === change).length;
  const [added, changed, removed] = ["Added", "Changed", "Removed"].map(number);
  const parts = [[changed, "changed"], [added, "added"], [removed, "removed"]].filter(([count]) => count);
  return `${counted(changes.length, "file")}: ${parts.map((part) => part.join(" ")).join(", ")}`;
}

function changesOf(published: Published, config: OsConfig): ConfigLine["changes"] {
  const textsOf = (all: OsConfig): Map<string, string> =>
    new Map(machineFiles(all).map(({ phase, path, mode, text }) => [`${phase} ${path}`, `${mode} ${text}`]));
  const [before, after] = [textsOf(asConfig(published)), textsOf(config)];
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((key) => {
    const [phase = "", path = ""] = key.split(/ (.*)/s);
    const [was, will] = [before.get(key), after.get(key)];
    if (was !== undefined && will !== undefined && isEqual(was, will)) return [];
    return [{ phase, path, change: was === undefined ? "Added" : will === undefined ? "Removed" : "Changed" } as const];
  });
}

// Ostler publishes no provider spec, because the spec can contain credentials. So a published provider spec is left out
// of the comparison.
function asConfig(published: Published): OsConfig {
  const { bootstrapConfig, provisioningConfig, ...rest } = published;
  const { name } = (rest["cloudProvider"] ?? {}) as { name?: string };
  const phase = (given: Published["bootstrapConfig"]): object => ({ userSSHKeys: [], ...given });
  return {
    ...rest,
    cloudProvider: { name, spec: {} },
    ...{ bootstrapConfig: phase(bootstrapConfig), provisioningConfig: phase(provisioningConfig) },
  } as unknown as OsConfig;
}

/** Returns whether a published text equals a rendered one, in which placeholders replace secrets. */
export function isEqual(published: string, rendered: string): boolean {
  const [first = "", ...rest] = rendered.split(hidden);
  const last = rest.pop();
  if (last === undefined) return published === rendered;
  if (!published.startsWith(first)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = published.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return published.length - last.length >= at && published.endsWith(last);
}

// The settings of the machines come from the Deployment of Ostler's worker, or if Ostler is not installed, of Operating
// System Manager; flags of this command override them.

interface Sources {
  process: RendererProcess | undefined;
  argv: string[];
  telling: Telling;
}

function settingsOf(terminal: Terminal, { process, argv, telling }: Sources): NodeSettings | undefined {
  const about = "settings of the machines";
  const { shape } = shapeOfSettings;
  const own = readFlagArguments(shape, process?.argv ?? []).given;
  const isFile = (name: string): boolean => noteOf(shape[name as keyof typeof shape]).form === "file";
  const args = [...own].filter(([name]) => !isFile(name))
    .flatMap(([name, texts]) =>
      texts.map((text) => text === undefined ? `--${flagOf(name)}` : `--${flagOf(name)}=${text}`)
    );
  const given = readFlagArguments(shape, argv).given;
  const env = { ...process?.env };
  const unread = Object.keys(shape).filter(isFile).filter((name) => {
    const variable = variableOf(name, noteOf(shape[name as keyof typeof shape]));
    const isSet = own.get(name)?.at(-1) || env[variable];
    delete env[variable];
    return isSet && !given.has(name);
  }).map((name) => `--${flagOf(name)}`);
  try {
    const readFile = (path: string): string => readFileBoundedSync(resolve(terminal.directory, path));
    const { settings } = readNodeSettings({ argv: [...args, ...argv], env }, readFile);
    const source = process
      ? `read from Deployment "${process.deployment}"`
      : "defaults, because no Deployment of Ostler or Operating System Manager was found";
    const lost = unread.length > 0 ? `, except ${unread.join(" and ")}, whose files only its pods have` : "";
    telling.step({ about, outcome: "Present", message: `${source}${lost}; flags of this command override them` });
    return settings;
  } catch (error) {
    const source = process ? `the settings of Deployment "${process.deployment}"` : "the flags of this command";
    const message = `Ostler would refuse ${source}: ${(error as Error).message}`;
    telling.step({ about, outcome: "Refused", message });
    return undefined;
  }
}

/** Returns whether --disable-default-osps is set, with which Ostler installs no default profiles. */
function keepsProfiles(process: RendererProcess | undefined): boolean {
  const flag = process?.argv.findLast((each) => /^--?disable-default-osps(=|$)/.test(each));
  const value = flag === undefined ? process?.env["OSTLER_DISABLE_DEFAULT_OSPS"] : flag.split("=")[1] ?? "true";
  return /^(true|t|1)$/i.test(value ?? "");
}
