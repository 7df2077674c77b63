/** Makes lines fit a screen: what does not fit would be cut off at the top, where what matters most stands. */
import { stripVTControlCharacters } from "node:util";

export interface Screen {
  columns: number;
  rows: number;
}

// deno-lint-ignore no-control-regex -- these are the escapes of styles
const style = /(\x1b\[[\d;]*m)/;

/** The line, no wider than the screen; styles are closed behind what is cut off. */
export function cutLine(line: string, columns: number): string {
  if (widthOf(line) <= columns) return line;
  let left = columns - 1;
  const parts = line.split(style).map((part, index) => {
    if (index % 2 === 1) return part;
    const seen = [...part].slice(0, left);
    const isEnd = left > 0 && seen.length === left;
    left -= seen.length;
    return seen.join("") + (isEnd ? "…" : "");
  });
  return parts.join("");
}

/** The lines with their whole text where there is room for it, else each cut, and the first of them. */
export function fitted(lines: readonly string[], { columns, rows }: Screen): string[] {
  const room = Math.max(1, rows - 1); // the cursor stands below
  const height = lines.reduce((sum, line) => sum + Math.max(1, Math.ceil(widthOf(line) / columns)), 0);
  return height <= room ? [...lines] : lines.slice(0, room).map((line) => cutLine(line, columns));
}

function widthOf(line: string): number {
  return [...stripVTControlCharacters(line)].length;
}
