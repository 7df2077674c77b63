import { isDeepStrictEqual } from "node:util";
import { loadYaml } from "@kubernetes/client-node";
import { parseDocument, stringify } from "yaml";
import type { Fault, Judge } from "../judge.ts";
import type { Piece } from "../piece.ts";

/**
 * Two YAML parsers must read the same values: `yaml` by the rules of YAML 1.1 and of YAML 1.2, and `loadYaml`. In
 * addition, `loadYaml` must read back the same values after `yaml` has written them.
 */
export const yaml: Judge = {
  promise: "two YAML parsers read the same values, even after a rewrite of the YAML",
  judges: (kind) => kind === "yaml" || kind === "cloud-config",
  missing: () => Promise.resolve(undefined),
  judge: (pieces) => Promise.resolve(pieces.flatMap(check)),
};

function check(piece: Piece): Fault[] {
  try {
    const documents = (["1.1", "1.2"] as const).map((version) => parseDocument(piece.text, { version }));
    const said = documents.flatMap(({ errors, warnings }) => [...errors, ...warnings]);
    if (said.length > 0) return said.map(({ message, linePos }) => ({ piece, place: linePos?.[0].line ?? 1, message }));
    const [old, current] = documents.map((document) => document.toJS());
    const other = loadYaml(piece.text);
    const again = loadYaml(stringify(other, { version: "1.1" }));
    return [old, current, again].every((read) => isDeepStrictEqual(plain(read), plain(other)))
      ? []
      : [{ piece, message: "parsers read different values" }];
  } catch (error) {
    return [{ piece, message: error instanceof Error ? error.message : String(error) }];
  }
}

/** Removes the prototypes of objects, because a difference of prototypes between the parsers does not matter. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
