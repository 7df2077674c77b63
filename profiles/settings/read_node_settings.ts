import { conflictsOf, NodeSettings } from "../node_settings.ts";
import { type ReadFile, readSettings, type SettingSources } from "./read_settings.ts";

/**
 * Reads what decides how machines are rendered; throws one error that names every wrong setting.
 * `rest` has the arguments, `restOfFile` the keys that are not for here; paths go to `readFile` as they are written.
 */
export function readNodeSettings(
  sources: SettingSources,
  readFile: ReadFile,
): { settings: NodeSettings; rest: string[]; restOfFile: string[] } {
  const { values, faults, rest, restOfFile } = readSettings(NodeSettings, sources, readFile);
  refuseFaults(faults.length > 0 ? faults : conflictsOf(values));
  return { settings: values, rest, restOfFile };
}

/** Throws one error for all faults, if there are any. */
export function refuseFaults(faults: string[]): void {
  if (faults.length > 0) throw new Error(`Cannot use the settings: ${faults.join("; ")}`);
}
