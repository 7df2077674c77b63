// deno-lint-ignore-file no-console -- this program prints its measurements
/** All figures as one table in Markdown. */
import { beside, type Column, type Figure, growths } from "./figure.ts";

const columns: Column[] = ["OSM", "Ostler", "floor"];
const head = ["measure", "size", "unit", ...columns, "Ostler/OSM", "growth"];

/** Writes one line per figure; the line of the largest size shows how the measure grows over all sizes. */
export function tableOf(figures: readonly Figure[]): string {
  const rows = [head, ...figures.map((figure) => rowOf(figure, figures))];
  const widths = head.map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  const line = (row: string[]): string =>
    `| ${row.map((cell, at) => at < 3 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)).join(" | ")} |`;
  const rule = `| ${widths.map((width, at) => at < 3 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`).join(" | ")} |`;
  const [first = [], ...rest] = rows;
  return [line(first), rule, ...rest.map(line)].join("\n");
}

function rowOf(figure: Figure, figures: readonly Figure[]): string[] {
  const { part, what, unit, size, values } = figure;
  const { Ostler: ours, OSM: theirs = 0 } = values;
  const ratio = ours !== undefined && theirs > 0 ? (ours / theirs).toFixed(2) : "";
  const isLargest = figures.every((other) =>
    other.part !== part || other.what !== what || (other.size ?? 0) <= (size ?? 0)
  );
  const growth = isLargest ? growthText(growths(figures, figure)) : "";
  return [
    `${part}: ${what}`,
    String(size ?? ""),
    unit,
    ...columns.map((column) => shown(values[column])),
    ratio,
    growth,
  ];
}

/** Three digits, which is the precision of the measurements. */
export function shown(value: number | undefined): string {
  if (value === undefined || Number.isNaN(value)) return "";
  if (value !== 0 && Math.abs(value) < 0.1) return value.toPrecision(2);
  return value.toFixed(Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0);
}

function growthText(growth: Partial<Record<Column, number>>): string {
  return columns.filter((column) => growth[column] !== undefined)
    .map((column) => `${column} ${growth[column]?.toFixed(2)}`).join(", ");
}

/** Measures, prints the results and ends the process; for a part of the bench that is run directly. */
export async function printAlone<One>(each: readonly One[], measure: (one: One) => Promise<Figure[]>): Promise<never> {
  const figures: Figure[] = [];
  for (const one of each) figures.push(...await measure(one));
  console.log(tableOf(beside(figures)));
  // The native part of the SDK would keep the process running.
  Deno.exit();
}
