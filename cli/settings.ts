import { resolve } from "node:path";
import { parse } from "yaml";
import type { NodeSettings } from "../profiles/mod.ts";
import { readNodeSettings } from "../profiles/settings/read_node_settings.ts";
import { readFileBoundedSync } from "./bounded_text.ts";
import type { Terminal } from "./terminal.ts";
import { UsageError } from "./usage_error.ts";
import { readTextFile } from "./yaml_file.ts";

/** Sources of the settings of the machines, such as `--node-http-proxy`. */
export interface SettingArguments {
  /** The whole command line; arguments that are not settings are ignored. */
  argv: string[];
  /** Path of a YAML file of settings, keyed by flag without dashes. */
  config: string | undefined;
}

/** Reads the settings as the processes of Ostler do; throws UsageError that names every invalid setting. */
export async function readSettings(terminal: Terminal, { argv, config }: SettingArguments): Promise<NodeSettings> {
  const file = config === undefined ? {} : await readConfig(terminal, config);
  const readFile = (path: string): string => readFileBoundedSync(resolve(terminal.directory, path));
  try {
    const { settings, restOfFile } = readNodeSettings({ argv, env: terminal.env, file }, readFile);
    // The file may also have settings of the processes, or a misspelled name.
    if (restOfFile.length > 0) {
      terminal.err(`${config}: ignored, because these are not settings of machines: ${restOfFile.join(", ")}\n`);
    }
    return settings;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

async function readConfig(terminal: Terminal, file: string): Promise<Record<string, unknown>> {
  const text = await readTextFile(terminal, file);
  try {
    const found: unknown = parse(text) ?? {};
    if (typeof found === "object" && !Array.isArray(found)) return found as Record<string, unknown>;
  } catch (error) {
    const [why] = (error as Error).message.split("\n");
    throw new UsageError(`Failed to read "${file}": ${why?.replace(/:$/, "")}`);
  }
  throw new UsageError(`Failed to read "${file}": it is not a mapping of settings`);
}
