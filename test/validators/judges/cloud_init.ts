import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { findOnPath } from "../../../deploy/local/tools/environment.ts";
import type { Fault, Judge } from "../judge.ts";
import { PieceFiles } from "./piece_files.ts";
import { lackOf, runTool } from "./run_tool.ts";

const program = fileURLToPath(new URL("cloud_init_schema.py", import.meta.url));

/** The schema check of Debian's cloud-init. */
export const cloudInit: Judge = {
  promise: "cloud-init's schema takes the user-data",
  utility: "cloud-init",
  judges: (kind) => kind === "cloud-config",
  missing: () => lackOf("cloud-init", "cloud-init"),
  async judge(pieces): Promise<Fault[]> {
    using written = new PieceFiles(pieces);
    const { code, stdout, stderr } = await runTool(await python(), [program], JSON.stringify(written.files));
    if (code !== 0) throw new Error(`Failed to check with cloud-init's schema: ${stderr}`);
    const faults: { path: string; line: number; message: string }[] = JSON.parse(stdout);
    return faults.map(({ path, line, message }) => ({ piece: written.pieceOf(path), place: line, message }));
  },
};

/** Returns the Python that cloud-init is installed for, which need not be the first one on PATH. */
async function python(): Promise<string> {
  const [cloudInit = ""] = await findOnPath("cloud-init", Deno.env.toObject());
  const [, interpreter] = /^#! *(\S+)/.exec(readFileSync(cloudInit, "utf8")) ?? [];
  if (interpreter === undefined) throw new Error(`Failed to find cloud-init's Python: "${cloudInit}" names none`);
  return interpreter;
}
