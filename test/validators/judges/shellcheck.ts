import type { Fault, Judge } from "../judge.ts";
import type { Piece } from "../piece.ts";
import { PieceFiles } from "./piece_files.ts";
import { lackOf, runTool } from "./run_tool.ts";

/** Every finding of ShellCheck is a fault, whatever its severity; scripts disable unwanted rules with a directive. */
export const shellcheck: Judge = {
  promise: "shellcheck finds nothing in the scripts",
  judges: (kind) => kind === "script",
  missing: () => lackOf("shellcheck", "shellcheck"),
  async judge(pieces): Promise<Fault[]> {
    const groups = Object.groupBy(pieces, dialectOf);
    const faults = Object.entries(groups).map(([dialect, group]) => check(group ?? [], dialectArgs[dialect] ?? []));
    return (await Promise.all(faults)).flat();
  },
};

// Arguments for files whose first line names no shell: "profile" for those that /etc/profile sources, "settings" for
// those that Ostler's scripts source.
const dialectArgs: Record<string, string[]> = {
  "profile": ["--shell=sh"],
  "settings": ["--shell=bash", "--exclude=SC2034"],
};

function dialectOf({ path, text }: Piece): string {
  if (text.startsWith("#!")) return "script";
  return path.endsWith(".env") ? "settings" : "profile";
}

async function check(pieces: readonly Piece[], dialect: readonly string[]): Promise<Fault[]> {
  using written = new PieceFiles(pieces);
  const args = ["--external-sources", "--severity=style", "--format=json", ...dialect, ...written.files];
  const { code, stdout, stderr } = await runTool("shellcheck", args);
  if (code > 1) throw new Error(`Failed to check with shellcheck: ${stderr}`);
  const comments: { file: string; line: number; code: number; message: string }[] = JSON.parse(stdout);
  return comments.map(({ file, line, code, message }) => {
    return { piece: written.pieceOf(file), place: line, message: `SC${code}: ${message}` };
  });
}
