import { resolve } from "node:path";
import { definedVariables, type Environment, findOnPath, isExecutable } from "./environment.ts";
import { runCommand } from "./run_command.ts";
import { ToolError } from "./tool_error.ts";
import { isMachineTool, type ToolName, toolVariable } from "./tool_name.ts";

/** The path of a tool that the user provides, and where it was found; or no path, and why no candidate was accepted. */
interface Finding {
  readonly path?: string;
  readonly detail: string;
}

/** Where to search, and the limits for the check of a binary. */
interface Search {
  readonly env: Environment;
  readonly signal?: AbortSignal | undefined;
  /** How long a binary may take to print its version, in milliseconds; default 10 seconds. */
  readonly probeMs?: number;
}

/**
 * Finds a tool that the user provides: by the tool's own environment variable, in folder KUBEBUILDER_ASSETS, or on
 * PATH. Throws ToolError if the tool's variable does not name an executable file.
 */
export async function findTool(tool: ToolName, search: Search): Promise<Finding> {
  return await fromVariable(tool, search.env) ?? await fromFolders(tool, search);
}

async function fromVariable(tool: ToolName, env: Environment): Promise<Finding | undefined> {
  const variable = toolVariable(tool);
  const value = env[variable];
  if (!value) return undefined;
  const path = resolve(value);
  if (await isExecutable(path)) return { path, detail: `from ${variable}: ${path}` };
  throw new ToolError({
    attempt: "use",
    tools: [tool],
    step: `read ${variable}`,
    state: `"${path}" is not an executable file`,
    cure: `set ${variable} to the path of the binary, or unset it`,
  });
}

async function fromFolders(tool: ToolName, search: Search): Promise<Finding> {
  const passedOver: string[] = [];
  for (const { path, source, isTrusted } of await candidates(tool, search.env)) {
    const { suits, said } = await askVersion(tool, path, search);
    if (suits ?? isTrusted) return { path, detail: `from ${source}: ${path}` };
    passedOver.push(`${path} ${said}`);
  }
  return { detail: passedOver.length === 0 ? "" : passedOver.join(", ") };
}

interface Candidate {
  readonly path: string;
  readonly source: string;
  /** Whether the binary is accepted even if it does not print its version. */
  readonly isTrusted: boolean;
}

async function candidates(tool: ToolName, env: Environment): Promise<Candidate[]> {
  // Machines need the exact version that the recipe builds, so no program from KUBEBUILDER_ASSETS or PATH is used.
  if (isMachineTool(tool)) return [];
  const found: Candidate[] = [];
  const { KUBEBUILDER_ASSETS: assets } = env;
  const path = assets ? resolve(assets, tool) : undefined;
  if (path && await isExecutable(path)) found.push({ path, source: "KUBEBUILDER_ASSETS", isTrusted: true });
  // A program on PATH whose version cannot be checked may be an unrelated program of the same name.
  if (acceptedVersions[tool] === undefined) return found;
  const onPath = await findOnPath(tool, env);
  return [...found, ...onPath.map((path) => ({ path, source: "PATH", isTrusted: false }))];
}

async function askVersion(tool: ToolName, path: string, search: Search): Promise<{ suits?: boolean; said: string }> {
  const accepted = acceptedVersions[tool];
  if (accepted === undefined) return { said: "prints no version" };
  const [, major, minor] = (await versionText(path, accepted.args, search)).match(accepted.pattern) ?? [];
  if (major === undefined || minor === undefined) {
    return { said: `does not print its version (wanted ${accepted.wanted})` };
  }
  const suits = accepted.suits(Number(major), Number(minor));
  return { suits, said: `is ${major}.${minor} (wanted ${accepted.wanted})` };
}

async function versionText(path: string, args: readonly string[], search: Search): Promise<string> {
  const { env, signal, probeMs = 10_000 } = search;
  const limits = [AbortSignal.timeout(probeMs), ...(signal ? [signal] : [])];
  try {
    const order = { program: path, args, env: definedVariables(env), signal: AbortSignal.any(limits) };
    const { stdout, lines } = await runCommand(order);
    return [stdout, ...lines].join("\n");
  } catch {
    // A binary that cannot be started, or that is too slow, counts as one that does not print its version.
    signal?.throwIfAborted();
    return "";
  }
}

/** How to read a tool's version, and which versions are accepted. */
interface AcceptedVersion {
  readonly args: readonly string[];
  /** Captures the major and the minor version. */
  readonly pattern: RegExp;
  readonly wanted: string;
  readonly suits: (major: number, minor: number) => boolean;
}

const kubernetes = { wanted: "1.36", suits: (major: number, minor: number) => major === 1 && minor === 36 };

/** Accepted versions of found tools; tools that are missing here, such as machine-controller, print no version. */
const acceptedVersions: Readonly<Partial<Record<ToolName, AcceptedVersion>>> = {
  etcd: {
    args: ["--version"],
    pattern: /etcd Version: (\d+)\.(\d+)/,
    wanted: "3.6",
    suits: (major, minor) => major === 3 && minor === 6,
  },
  "kube-apiserver": { args: ["--version"], pattern: /Kubernetes v(\d+)\.(\d+)/, ...kubernetes },
  "kube-controller-manager": { args: ["--version"], pattern: /Kubernetes v(\d+)\.(\d+)/, ...kubernetes },
  kubectl: { args: ["version", "--client"], pattern: /Client Version: v(\d+)\.(\d+)/, ...kubernetes },
  temporal: {
    args: ["--version"],
    pattern: /temporal version (\d+)\.(\d+)/,
    wanted: "1.5 or newer",
    suits: (major, minor) => major > 1 || (major === 1 && minor >= 5),
  },
  tctl: {
    args: ["--version"],
    pattern: /tctl version (\d+)\.(\d+)/,
    wanted: "1.18",
    suits: (major, minor) => major === 1 && minor === 18,
  },
  "temporal-server": {
    args: ["--version"],
    pattern: /temporal version (\d+)\.(\d+)/,
    wanted: "1.29",
    suits: (major, minor) => major === 1 && minor === 29,
  },
  cosign: {
    args: ["version"],
    pattern: /GitVersion:\s+v(\d+)\.(\d+)/,
    wanted: "2.6",
    suits: (major, minor) => major === 2 && minor === 6,
  },
  registry: {
    args: ["--version"],
    pattern: /distribution\/distribution\S* v(\d+)\.(\d+)/,
    wanted: "3.0 or a later 3.x",
    suits: (major) => major === 3,
  },
  helm: {
    args: ["version", "--short"],
    pattern: /^v(\d+)\.(\d+)/m,
    wanted: "3.19 or a later 3.x",
    suits: (major, minor) => major === 3 && minor >= 19,
  },
};
