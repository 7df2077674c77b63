import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { goJson } from "./go_json.ts";

/**
 * Returns the SHA-256 in lower-case hex of all annotations of a MachineDeployment, as Operating System Manager writes
 * it into `k8c.io/mdannotations-hash`: the hash of Go's JSON, with keys sorted by their bytes.
 */
export function annotationsHash(annotations: Record<string, string>): string {
  const sorted = Object.entries(annotations).sort(([left], [right]) => Buffer.compare(bytes(left), bytes(right)));
  const pairs = sorted.map(([key, value]) => `${goJson(key)}:${goJson(value)}`);
  return createHash("sha256").update(`{${pairs.join(",")}}`).digest("hex");
}

function bytes(text: string): Buffer {
  return Buffer.from(text, "utf8");
}
