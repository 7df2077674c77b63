/** The list of all settings, for people: `--help` and docs/reference/settings.md. */
import { NodeSettings } from "../profiles/node_settings.ts";
import { type SettingRow, settingRows, settingsHelp, settingsTable } from "../profiles/settings/settings_table.ts";
import { OsmSettings, ProcessSettings } from "./process_settings.ts";

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
