/** A table without lines, as kubectl prints it. */
import Table from "cli-table3";

const noLines = Object.fromEntries(
  ["top", "bottom", "left", "right"].flatMap((side) => [side, `${side}-mid`, `${side}-left`, `${side}-right`])
    .concat("mid", "mid-mid", "middle").map((name) => [name, name === "middle" ? "  " : ""]),
);

/** Returns rows in columns, without trailing blanks; `head` is optional. */
export function plainTable(rows: readonly (readonly string[])[], head?: readonly string[]): string {
  if (rows.length === 0 && head === undefined) return "";
  const table = new Table({ style: { head: [], border: [], compact: true, "padding-left": 0 }, chars: noLines });
  for (const row of head === undefined ? rows : [head, ...rows]) table.push([...row]);
  return `${table.toString().replaceAll(/ +$/gm, "")}\n`;
}
