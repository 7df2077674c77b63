/** Reads the settings of a process at its start. */
import process from "node:process";
import { type Config, readConfig } from "./config.ts";
import { createLogger } from "./logger.ts";
import { NodeSettings } from "../profiles/node_settings.ts";
import { type SettingRow, settingRows, settingsHelp, settingsTable } from "../profiles/settings/settings_table.ts";
import { OsmSettings, ProcessSettings } from "./process_settings.ts";

/** Reads arguments and environment of this process. Exits with 0 after `--help`, and with 2 if a setting is invalid. */
export function settingsOfProcess(): Config {
  const argv = process.argv.slice(2);
  if (argv.some((argument) => /^--?h(elp)?$/.test(argument))) {
    process.stdout.write(helpText());
    process.exit(0);
  }
  try {
    const config = readConfig(process.env, argv);
    const log = createLogger(config.logLevel);
    for (const warning of config.warnings) log.warn(warning);
    return config;
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exit(2);
  }
}

// The list of all settings in `--help` and docs/reference/settings.md.

const groups: [title: string, rows: SettingRow[]][] = [
  ["Machines", settingRows(NodeSettings)],
  ["Processes", settingRows(ProcessSettings)],
  ["Compatibility with Operating System Manager", settingRows(OsmSettings)],
];

/** Returns the text of `--help`. */
export function helpText(): string {
  const lead =
    "Flags have one dash or two. A flag overrides its environment variable (OSTLER_ and its name in capitals),\n" +
    "the variable overrides the file of --config, and the file overrides the default.\n";
  return lead + groups.map(([title, rows]) => `\n${title}\n${settingsHelp(rows)}`).join("");
}

/** Returns all settings as Markdown tables. */
export function helpTables(): string {
  return groups.map(([title, rows]) => `## ${title}\n\n${settingsTable(rows)}`).join("\n");
}
