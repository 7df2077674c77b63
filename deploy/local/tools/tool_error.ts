import { type ToolName, toolVariable } from "./tool_name.ts";

/** The facts that an error message states, so that the reader needs no other output to understand the failure. */
interface ToolFailure {
  readonly attempt: "build" | "use" | "find";
  readonly tools: readonly ToolName[];
  readonly step: string;
  readonly state: string;
  readonly cure: string;
  readonly lines?: readonly string[];
  readonly cause?: unknown;
}

/** A tool cannot be found or built; the message names the tool, the step, the last lines of output and the cure. */
export class ToolError extends Error {
  override readonly name = "ToolError";
  readonly tools: readonly ToolName[];
  readonly step: string;

  constructor(failure: ToolFailure) {
    super(describeFailure(failure), { cause: failure.cause });
    this.tools = failure.tools;
    this.step = failure.step;
  }
}

/** Returns a cure that avoids the build: to set the variables of these tools to existing binaries. */
export function provideCure(tools: readonly ToolName[]): string {
  const binary = tools.length > 1 ? ", each to an existing binary of its tool" : " to an existing binary";
  return `set ${tools.map(toolVariable).join(", ")}${binary}`;
}

function describeFailure({ attempt, tools, step, state, cure, lines = [] }: ToolFailure): string {
  const names = tools.map((tool) => `"${tool}"`).join(", ");
  const tail = lines.map((line) => `\n  | ${line}`).join("");
  return `Failed to ${attempt} ${names}: step "${step}": ${state}${tail}\n  cure: ${cure}`;
}
