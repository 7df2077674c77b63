/** The settings of the machines as flags of a command: apart, as only few commands take them and to read them loads much. */
import { settingRows, settingsHelp } from "../profiles/mod.ts";
import { NodeSettings } from "../profiles/node_settings.ts";
import { readFlagArguments } from "../profiles/settings/flag_arguments.ts";

/** All of them, for `--help`. */
export function settingsOfMachines(): string {
  return settingsHelp(settingRows(NodeSettings));
}

/** The arguments that are none: settings are flags of their own kind, with one dash or two. */
export function withoutSettings(args: readonly string[]): readonly string[] {
  return readFlagArguments(NodeSettings.shape, [...args]).rest;
}
