import { conflictsOf, NodeSettings } from "../node_settings.ts";
import { type ReadFile, readSettings, type SettingSources } from "./read_settings.ts";

/**
 * Returns the settings for rendering machines; throws one error that names every invalid setting. `rest` has the
 * arguments that belong to none of these settings, and `restOfFile` has such keys of the settings file. `readFile` gets
 * each path as the setting has it.
 */
export function readNodeSettings(
  sources: SettingSources,
  readFile: ReadFile,
): { settings: NodeSettings; rest: string[]; restOfFile: string[] } {
  const { values, faults, rest, restOfFile } = readSettings(NodeSettings, sources, readFile);
  refuseFaults(faults.length > 0 ? faults : conflictsOf(values));
  return { settings: values, rest, restOfFile };
}

/** Throws one error with all faults, if there are any. */
export function refuseFaults(faults: string[]): void {
  if (faults.length > 0) throw new Error(`Invalid settings: ${faults.join("; ")}`);
}
