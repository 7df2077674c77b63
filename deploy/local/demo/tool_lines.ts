import type { ToolProgress } from "../tools/progress.ts";
import type { LiveLine } from "./narrator.ts";

/** Keeps one line per tool while tools are found, awaited or built; gives all of them after each event. */
export class ToolLines {
  readonly #lines = new Map<string, LiveLine>();

  take({ tool, state, detail, seconds }: ToolProgress): readonly LiveLine[] {
    const isDone = state === "found" || state === "built";
    const text = `${tool.padEnd(24)} ${state}${isDone ? "" : ` ${detail}`}`;
    // What a build says changes all the time; that it is being built does not.
    const line = state === "building"
      ? { key: tool, text: `${tool.padEnd(24)} building`, aside: ` ${seconds.toFixed(0)} s  ${detail.slice(0, 60)}` }
      : { key: tool, text };
    this.#lines.set(tool, line);
    return [...this.#lines.values()];
  }
}
