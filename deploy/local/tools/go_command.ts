import { setTimeout as delay } from "node:timers/promises";
import process from "node:process";
import { definedVariables, type Environment, findOnPath } from "./environment.ts";
import { wantedGo } from "./recipe.ts";
import { type CommandResult, runCommand } from "./run_command.ts";
import { provideCure, ToolError } from "./tool_error.ts";
import type { ToolName } from "./tool_name.ts";

/** The go command, and the tools that it builds. */
export interface Go {
  readonly program: string;
  readonly tools: readonly ToolName[];
  readonly env: Environment;
  readonly signal?: AbortSignal | undefined;
  readonly onLine?: (line: string) => void;
}

/** One run of the go command; errors name it by `step`. */
interface GoCall {
  readonly step: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** Target operating system; default is the current one. */
  readonly target?: "linux" | undefined;
  /** Whether cgo is enabled. */
  readonly isPartlyC?: true | undefined;
}

const attempts = 3;
const architectures: Readonly<Record<string, string>> = { x64: "amd64", arm64: "arm64" };

/** Returns a go command that is new enough for the module in `cwd`; throws ToolError with the cure. */
export async function findGo(order: Omit<Go, "program">, cwd: string): Promise<Go> {
  const [program] = await findOnPath("go", order.env);
  if (program === undefined) throw lacksGo(order.tools, 'no "go" on PATH');
  const go = { ...order, program };
  const said = (await runGo(go, { step: "check Go", args: ["version"], cwd })).stdout.trim();
  const [, major = "0", minor = "0"] = said.match(/\bgo(\d+)\.(\d+)/) ?? [];
  const isNewEnough = Number(major) > wantedGo.major ||
    (Number(major) === wantedGo.major && Number(minor) >= wantedGo.minor);
  if (!isNewEnough) throw lacksGo(order.tools, `"${program}" reports "${said}"`);
  return go;
}

/** Runs go, with retries after network failures; throws ToolError if it fails. */
export async function runGo(go: Go, call: GoCall): Promise<CommandResult> {
  const startedAt = performance.now();
  for (let attempt = 1;; attempt++) {
    const result = await tryGo(go, call);
    if (result.code === 0) return result;
    if (attempt === attempts || !isPassing(result.lines)) throw goFailed(go, call, { ...result, startedAt });
    go.onLine?.(`retrying step "${call.step}" after: ${lastWords(result.lines, 1)[0] ?? ""}`);
    await delay(1000 * attempt, undefined, { ...(go.signal ? { signal: go.signal } : {}) })
      .catch(() => go.signal?.throwIfAborted());
  }
}

async function tryGo({ program, env, signal, onLine, tools }: Go, call: GoCall): Promise<CommandResult> {
  const { step, args, cwd } = call;
  try {
    const result = await runCommand({
      program,
      args,
      cwd,
      env: { ...definedVariables(env), ...buildTarget(call) },
      signal,
      ...(onLine ? { onLine } : {}),
    });
    // With -json, go prints errors on standard output.
    return result.code === 0 ? result : { ...result, lines: [...result.lines, ...result.stdout.split("\n")] };
  } catch (cause) {
    signal?.throwIfAborted();
    throw new ToolError({
      attempt: "build",
      tools,
      step,
      state: `"${program}" cannot be started: ${cause instanceof Error ? cause.message : String(cause)}`,
      cure: installGo,
      cause,
    });
  }
}

/**
 * Returns variables that override the user's Go settings for the target, the use of a C compiler, and workspaces.
 */
function buildTarget({ target, isPartlyC }: GoCall): Record<string, string> {
  const arch = architectures[process.arch];
  const platform = arch === undefined ? {} : { GOOS: target ?? process.platform, GOARCH: arch };
  return { ...platform, CGO_ENABLED: isPartlyC ? "1" : "0", GO111MODULE: "on", GOWORK: "off" };
}

function lacksGo(tools: readonly ToolName[], state: string): ToolError {
  return new ToolError({
    attempt: "build",
    tools,
    step: "check Go",
    state,
    cure: `${installGo}; or ${provideCure(tools)}`,
  });
}

function goFailed({ tools }: Go, call: GoCall, result: CommandResult & { startedAt: number }): ToolError {
  const seconds = Math.round((performance.now() - result.startedAt) / 1000);
  const cure = cureGoFailure(result.lines);
  return new ToolError({
    attempt: "build",
    tools,
    step: call.step,
    state: `go ${call.args[0]} ended with exit code ${result.code} after ${seconds} s`,
    lines: lastWords(result.lines),
    cure: cure === undefined ? provideCure(tools) : `${cure}; or ${provideCure(tools)}`,
  });
}

/** The cure for missing or outdated Go. */
const installGo = `install Go ${wantedGo.major}.${wantedGo.minor} or later, with "go" on PATH`;

const isNetwork =
  /dial tcp|no such host|connection re(fused|set)|i\/o timeout|TLS handshake|unexpected EOF|proxyconnect|: 5\d\d |too many requests/i;

// More specific failures come first, because the output about an unreachable checksum database also has a network
// error.
const cures: readonly { readonly matches: (text: string) => boolean; readonly cure: string }[] = [
  {
    matches: (text) => /checksum mismatch|SECURITY ERROR/.test(text),
    cure: 'the downloaded module differs from the published one: try "go clean -modcache" or another GOPROXY',
  },
  {
    matches: (text) => /verifying \S+|checksum database/.test(text) && isNetwork.test(text),
    cure: "make the Go checksum database reachable, or name another in GOSUMDB; or, if you trust your module proxy, " +
      "set GOSUMDB=off, or GONOSUMDB to the modules to skip",
  },
  {
    matches: (text) => /toolchain not available|requires go >= |download go1/.test(text),
    cure: installGo,
  },
  {
    matches: (text) => isNetwork.test(text) || /disabled by GOPROXY/.test(text),
    cure: "make the Go module proxy reachable, or set GOPROXY to a reachable one",
  },
  {
    matches: (text) => /C compiler "[^"]*" not found|cannot find -lc\b|rcrt1\.o/.test(text),
    cure: "install a C compiler with a static C library (Debian: gcc libc6-dev)",
  },
  {
    matches: (text) => /no space left on device|disk quota exceeded/.test(text),
    cure: "free some disk space: a first build of all tools takes about 6 GB with Go's caches",
  },
  {
    matches: (text) => /signal: killed|cannot allocate memory|out of memory/.test(text),
    cure: "free some memory: linking kube-apiserver takes about 3 GB",
  },
];

/** Returns the cure for a failed go command; undefined if its output matches no known failure. */
export function cureGoFailure(lines: readonly string[]): string | undefined {
  const text = lines.join("\n");
  return cures.find(({ matches }) => matches(text))?.cure;
}

/** Returns whether the failure may be transient, so that a retry can succeed. */
export function isPassing(lines: readonly string[]): boolean {
  const text = lines.join("\n");
  return isNetwork.test(text) && !/checksum mismatch|SECURITY ERROR/.test(text);
}

/** Returns the last lines of the output, without lines about compiled packages and downloaded modules. */
export function lastWords(lines: readonly string[], count = 12): string[] {
  return lines.filter((line) => line.trim() !== "" && !/^[\w./~@+{}-]+$|^go: downloading /.test(line)).slice(-count);
}
