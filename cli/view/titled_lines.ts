/** Lines with a title in a column before them; a long text continues in the column of the texts. */
import { styled, type Terminal } from "../terminal.ts";
import { wrapped } from "./wrapped.ts";

const width = 12;

/** A title, its text, and whether the text is a command, which stays in one line so that users can copy it. */
export type Titled = readonly [title: string, text: string, isCommand?: true];

/** Returns the lines, wrapped to the width of a terminal; a title that equals the previous one is left out. */
export function titledLines(terminal: Terminal, texts: readonly Titled[]): string[] {
  const whole = terminal.isWatched ? (terminal.columns?.() || 80) - width : Infinity;
  return texts.flatMap(([title, text, isCommand], nth) => {
    const columns = isCommand ? Infinity : whole;
    const head = title === texts[nth - 1]?.[0] ? "" : title;
    return brokenAt(text, columns).map((line, part) =>
      `${styled(terminal, "bold", (part === 0 ? head : "").padEnd(width))}${line}`
    );
  });
}

function brokenAt(text: string, columns: number): string[] {
  return columns === Infinity ? [text] : wrapped(text, columns).split("\n");
}
