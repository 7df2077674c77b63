import type { z } from "zod";
import { flagOf, type Form, noteOf, type SettingShape, variableOf } from "./setting.ts";

/** One setting in the reference and in `--help`. */
export interface SettingRow {
  flag: string;
  variable: string;
  /** The default; empty if there is none. */
  standard: string;
  description: string;
  form: Form;
}

/** Returns the settings of a shape, in its order. */
export function settingRows({ shape }: z.ZodObject<SettingShape>): SettingRow[] {
  return Object.entries(shape).map(([name, field]) => {
    const note = noteOf(field);
    const { standard, form, isIgnored } = note;
    const description = isIgnored ? `Ignored: ${note.description}` : note.description;
    return { flag: flagOf(name), variable: variableOf(name, note), standard, description, form };
  });
}

/** Returns the settings as a Markdown table. */
export function settingsTable(rows: SettingRow[]): string {
  const cells = rows.map(({ flag, variable, standard, description }) =>
    [`\`--${flag}\``, `\`${variable}\``, standard && `\`${standard}\``, description].join(" | ")
  );
  return ["flag | variable | default | meaning", "--- | --- | --- | ---", ...cells].map((row) => `| ${row} |\n`).join(
    "",
  );
}

/** Returns the settings as text for a terminal. */
export function settingsHelp(rows: SettingRow[]): string {
  return rows.map(({ flag, standard, description, form }) => {
    const value = form === "truth" ? "" : ` ${form === "file" ? "FILE" : form === "json" ? "JSON" : "TEXT"}`;
    return `  --${flag}${value}\n        ${description}${standard && ` (default ${standard})`}\n`;
  }).join("");
}
