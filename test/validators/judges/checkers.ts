import { resolveTools } from "../../../deploy/local/tools/resolve_tools.ts";
import type { Fault, Judge } from "../judge.ts";
import type { Kind, Piece } from "../piece.ts";
import { tellProgress } from "../progress.ts";
import { PieceFiles } from "./piece_files.ts";
import { runTool } from "./run_tool.ts";

type Checker = "check-machine-files" | "check-kubelet-config";

/**
 * Programs that validate files with the Go code with which containerd, Ignition and the kubelet read the same files on
 * a machine. A program that does not exist yet is built first.
 */
export const checkers: Judge[] = [
  {
    promise: "containerd 2.2 loads its config",
    ...checker("check-machine-files", "containerd-2.2"),
  },
  {
    promise: "containerd 2.2 accepts the hosts.toml files of the registries",
    ...checker("check-machine-files", "containerd-hosts"),
  },
  {
    promise: "Ignition 0.35, the last to read spec 2.3 (Debian's reads only 3.x), takes the user-data",
    utility: "ignition",
    ...checker("check-machine-files", "ignition-2.3"),
  },
  {
    promise: "TOML files have the same values after a TOML library rewrites them",
    ...checker("check-machine-files", "toml"),
  },
  {
    promise: "the kubelet of each minor takes its config",
    ...checker("check-kubelet-config", "kubelet-1."),
  },
  {
    promise: "kubelet 1.36 knows the flags that it is started with",
    ...checker("check-kubelet-config", "kubelet-flags"),
  },
];

function checker(tool: Checker, prefix: string): Omit<Judge, "promise"> {
  return {
    judges: (kind: Kind) => kind.startsWith(prefix),
    missing: () => lackOf(tool),
    judge: (pieces) => check(tool, pieces),
  };
}

async function lackOf(tool: Checker): Promise<string | undefined> {
  try {
    await programOf(tool);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message.split("\n")[0] : String(error);
  }
}

async function programOf(tool: Checker): Promise<string> {
  const tools = await resolveTools([tool], {
    onProgress: ({ state, detail }) => state === "found" || tellProgress(`${tool}: ${state} ${detail}`),
  });
  return tools[tool];
}

async function check(tool: Checker, pieces: readonly Piece[]): Promise<Fault[]> {
  using written = new PieceFiles(pieces);
  const order = written.files.map((path) => ({ kind: written.pieceOf(path).kind, path }));
  const { code, stdout, stderr } = await runTool(await programOf(tool), [], JSON.stringify(order));
  if (code !== 0) throw new Error(`Failed to check with ${tool}: ${stderr}`);
  const findings: { path: string; line: number; message: string }[] = JSON.parse(stdout);
  return findings.map(({ path, line, message }) => {
    return { piece: written.pieceOf(path), ...(line > 0 ? { place: line } : {}), message };
  });
}
