/** Results for programs. */
import { stringify } from "yaml";

/** How a result is shown. */
export type Format = "table" | "wide" | "json" | "yaml";

/** The value as JSON or YAML; undefined for the formats that are for people. */
export function asData(format: Format, value: unknown): string | undefined {
  if (format === "json") return `${JSON.stringify(value, null, 2)}\n`;
  return format === "yaml" ? stringify(value, { lineWidth: 0 }) : undefined;
}
