import type { ToolName } from "./tool_name.ts";

/** One step in finding or building a tool; `seconds` counts from the call of `startReport`. */
export interface ToolProgress {
  readonly tool: ToolName;
  readonly state: "found" | "waiting" | "building" | "built";
  readonly detail: string;
  readonly seconds: number;
}

/** Reports a state of several tools. */
export type Report = (tools: readonly ToolName[], state: ToolProgress["state"], detail: string) => void;

/** Returns a function that passes each state on to `onProgress`, with the seconds since the call of `startReport`. */
export function startReport(onProgress: (progress: ToolProgress) => void): Report {
  const startedAt = performance.now();
  return (tools, state, detail) => {
    const seconds = Math.round((performance.now() - startedAt) / 100) / 10;
    for (const tool of tools) onProgress({ tool, state, detail, seconds });
  };
}

/** Returns a function that passes a line on to `report`, and drops all further lines for `intervalMs`. */
export function throttleLines(report: (line: string) => void, intervalMs = 500): (line: string) => void {
  let quietUntil = 0;
  return (line) => {
    const now = performance.now();
    if (now < quietUntil) return;
    quietUntil = now + intervalMs;
    report(line);
  };
}
