/** Results for programs. */
import { stringify } from "yaml";

/** How a result is shown. */
export type Format = "table" | "wide" | "json" | "yaml";

/** The value as JSON or YAML; undefined for the formats that are for people. */
export function asData(format: Format, value: unknown): string | undefined {
  if (format === "json") return `${JSON.stringify(value, null, 2)}\n`;
  return format === "yaml" ? stringify(value, { lineWidth: 0 }) : undefined;
}

/** Values to which more will come: a line of JSON each, or a document of YAML. */
export function asStream(format: Format, values: readonly unknown[]): string | undefined {
  if (format === "json") return values.map((value) => `${JSON.stringify(value)}\n`).join("");
  if (format !== "yaml") return undefined;
  return values.map((value) => `---\n${stringify(value, { lineWidth: 0 })}`).join("");
}
