/**
 * The settings of the machines as flags; a module of its own, because few commands use them and loading them is slow.
 */
import { settingRows, settingsHelp } from "../profiles/mod.ts";
import { NodeSettings } from "../profiles/node_settings.ts";
import { readFlagArguments } from "../profiles/settings/flag_arguments.ts";

/** Returns the description of all settings for `--help`. */
export function settingsOfMachines(): string {
  return settingsHelp(settingRows(NodeSettings));
}

/** Returns the arguments that are not settings; a setting may begin with one dash or two. */
export function withoutSettings(args: readonly string[]): readonly string[] {
  return readFlagArguments(NodeSettings.shape, [...args]).rest;
}
