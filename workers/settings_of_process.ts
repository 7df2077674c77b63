/** How a process gets its settings when it starts. */
import process from "node:process";
import { type Config, readConfig } from "./config.ts";
import { createLogger } from "./logger.ts";
import { NodeSettings } from "../profiles/node_settings.ts";
import { type SettingRow, settingRows, settingsHelp, settingsTable } from "../profiles/settings/settings_table.ts";
import { OsmSettings, ProcessSettings } from "./process_settings.ts";

/** Reads arguments and environment of this process. Ends it after `--help`, and with status 2 when a setting is wrong. */
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

// The list of all settings, for people: `--help` and docs/reference/settings.md.

const groups: [title: string, rows: SettingRow[]][] = [
  ["Machines", settingRows(NodeSettings)],
  ["Processes", settingRows(ProcessSettings)],
  ["For arguments of Operating System Manager", settingRows(OsmSettings)],
];

/** All settings for a terminal. */
export function helpText(): string {
  const lead =
    "A flag may have one dash or two. A flag wins over the environment (OSTLER_ and its name in capitals),\n" +
    "that over the file given by --config, and that over the default.\n";
  return lead + groups.map(([title, rows]) => `\n${title}\n${settingsHelp(rows)}`).join("");
}

/** All settings in Markdown. */
export function helpTables(): string {
  return groups.map(([title, rows]) => `## ${title}\n\n${settingsTable(rows)}`).join("\n");
}
