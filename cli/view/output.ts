/** Results as data for programs. */
import { stringify } from "yaml";

/** The format of a result. */
export type Format = "table" | "wide" | "json" | "yaml";

/** Returns a value as JSON or YAML; undefined for table and wide. */
export function asData(format: Format, value: unknown): string | undefined {
  if (format === "json") return `${JSON.stringify(value, null, 2)}\n`;
  return format === "yaml" ? stringify(value, { lineWidth: 0 }) : undefined;
}

/** Returns values of a stream, each as a line of JSON or a document of YAML; undefined for table and wide. */
export function asStream(format: Format, values: readonly unknown[]): string | undefined {
  if (format === "json") return values.map((value) => `${JSON.stringify(value)}\n`).join("");
  if (format !== "yaml") return undefined;
  return values.map((value) => `---\n${stringify(value, { lineWidth: 0 })}`).join("");
}
