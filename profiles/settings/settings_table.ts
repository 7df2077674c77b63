import type { z } from "zod";
import { flagOf, type Form, noteOf, type SettingShape, variableOf } from "./setting.ts";

/** One setting as people look it up. */
export interface SettingRow {
  flag: string;
  variable: string;
  /** Empty when nothing stands. */
  standard: string;
  description: string;
  form: Form;
}

/** The settings of a shape, in its order. */
export function settingRows({ shape }: z.ZodObject<SettingShape>): SettingRow[] {
  return Object.entries(shape).map(([name, field]) => {
    const note = noteOf(field);
    const { standard, description, form } = note;
    return { flag: flagOf(name), variable: variableOf(name, note), standard, description, form };
  });
}

/** A Markdown table of settings. */
export function settingsTable(rows: SettingRow[]): string {
  const cells = rows.map(({ flag, variable, standard, description }) =>
    [`\`--${flag}\``, `\`${variable}\``, standard && `\`${standard}\``, description].join(" | ")
  );
  return ["flag | variable | default | meaning", "--- | --- | --- | ---", ...cells].map((row) => `| ${row} |\n`).join(
    "",
  );
}

/** The same for a terminal. */
export function settingsHelp(rows: SettingRow[]): string {
  return rows.map(({ flag, standard, description, form }) => {
    const value = form === "truth" ? "" : ` ${form === "file" ? "FILE" : form === "json" ? "JSON" : "TEXT"}`;
    return `  --${flag}${value}\n        ${description}${standard && ` (default ${standard})`}\n`;
  }).join("");
}
