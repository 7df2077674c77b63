import { type ToolName, toolVariable } from "./tool_name.ts";

/** What a failure has to tell a reader who saw nothing else. */
export interface ToolFailure {
  readonly attempt: "build" | "use" | "find";
  readonly tools: readonly ToolName[];
  readonly step: string;
  readonly state: string;
  readonly cure: string;
  readonly lines?: readonly string[];
  readonly cause?: unknown;
}

/** A tool that can be neither found nor made: names the tool, the step, the last lines of output and the cure. */
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

/** Says which variables spare a build of these tools. */
export function provideCure(tools: readonly ToolName[]): string {
  return `set ${tools.map(toolVariable).join(", ")} to a binary you have`;
}

function describeFailure({ attempt, tools, step, state, cure, lines = [] }: ToolFailure): string {
  const names = tools.map((tool) => `"${tool}"`).join(", ");
  const tail = lines.map((line) => `\n  | ${line}`).join("");
  return `Cannot ${attempt} ${names}: step "${step}": ${state}${tail}\n  cure: ${cure}`;
}
