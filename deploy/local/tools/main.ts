// Entry point: finds or builds the named tools, those of machines (--machines) or, by default, those of the embedded
// stack, and prints their paths.
import process from "node:process";
import { parseArgs } from "node:util";
import type { ToolProgress } from "./progress.ts";
import { resolveTools } from "./resolve_tools.ts";
import { isToolName, machineToolNames, stackToolNames, type ToolName, toolNames } from "./tool_name.ts";

const quietMs = 10_000;

function readNames(words: readonly string[], isForMachines: boolean): ToolName[] {
  const unknown = words.find((word) => !isToolName(word));
  if (unknown !== undefined) throw new Error(`Unknown tool "${unknown}": accepted are ${toolNames.join(", ")}`);
  const named = [...words.filter(isToolName), ...(isForMachines ? machineToolNames : [])];
  return named.length === 0 ? [...stackToolNames] : [...new Set(named)];
}

/** Prints state changes immediately, and the progress of a long build at intervals. */
function narrate(): (progress: ToolProgress) => void {
  const last = new Map<ToolName, { state: string; at: number }>();
  return ({ tool, state, detail, seconds }) => {
    const before = last.get(tool);
    if (state === "building" && before?.state === state && performance.now() - before.at < quietMs) return;
    last.set(tool, { state, at: performance.now() });
    process.stderr.write(`${seconds.toFixed(1).padStart(6)} s  ${tool.padEnd(24)} ${state.padEnd(9)} ${detail}\n`);
  };
}

function stopOnSignals(): AbortSignal {
  const controller = new AbortController();
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    Deno.addSignalListener(name, () => controller.abort(new Error(`Stopped by ${name}`)));
  }
  return controller.signal;
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    args: Deno.args,
    allowPositionals: true,
    options: {
      machines: { type: "boolean", default: false },
      output: { type: "string", short: "o", default: "lines" },
    },
  });
  if (!["lines", "json"].includes(values.output)) {
    throw new Error(`Invalid --output "${values.output}": accepted are lines, json`);
  }
  const names = readNames(positionals, values.machines);
  const paths = await resolveTools(names, { onProgress: narrate(), signal: stopOnSignals() });
  const lines = names.map((name) => `${name}\t${paths[name]}`).join("\n");
  process.stdout.write(`${values.output === "json" ? JSON.stringify(paths, null, 2) : lines}\n`);
}

try {
  await main();
  Deno.exit(0);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  Deno.exit(1);
}
