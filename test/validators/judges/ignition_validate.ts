import type { Fault, Judge } from "../judge.ts";
import type { Piece } from "../piece.ts";
import { PieceFiles } from "./piece_files.ts";
import { lackOf, runTool } from "./run_tool.ts";

/**
 * Validates Ignition configs. A warning of ignition-validate is a finding too, because a machine would ignore or change
 * a part of such a config.
 */
export const ignitionValidate: Judge = {
  promise: "ignition-validate takes the user-data of specification 3.3.0",
  utility: "ignition",
  judges: (kind) => kind === "ignition-3.3",
  missing: () => lackOf("ignition-validate", "ignition"),
  async judge(pieces): Promise<Fault[]> {
    using written = new PieceFiles(pieces);
    const faults: Fault[] = [];
    // `ignition-validate` accepts one file at a time.
    for (const file of written.files) faults.push(...await validate(file, written.pieceOf(file)));
    return faults;
  },
};

async function validate(file: string, piece: Piece): Promise<Fault[]> {
  const { code, stdout, stderr } = await runTool("ignition-validate", [file]);
  const said = `${stdout}${stderr}`.trim();
  if (said === "" && code !== 0) throw new Error(`Failed to check with ignition-validate: it ended with ${code}`);
  return said === "" ? [] : said.split("\n").map((line) => {
    const [, place, message] = /^(?:warning|error) at (\S+?)(?:, line \d+ col \d+)?: (.*)$/.exec(line) ?? [];
    return { piece, ...(place === undefined ? {} : { place }), message: message ?? line };
  });
}
