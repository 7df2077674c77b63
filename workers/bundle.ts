/** Builds the workflow bundle that a worker loads in production instead of bundling at every start. */
import { bundleWorkflowCode } from "@temporalio/worker";
import { Buffer } from "node:buffer";
import { writeFile } from "node:fs/promises";
import process from "node:process";
import { fileURLToPath } from "node:url";

const target = process.argv[2] ?? "workflow_bundle.js";
const workflowsPath = fileURLToPath(new URL("../workflows/mod.ts", import.meta.url));
const code = withoutSources((await bundleWorkflowCode({ workflowsPath })).code);
await writeFile(target, code);
process.stderr.write(`Wrote ${target}, ${code.length} characters\n`);

/** Returns the code with a source map without sources: both threads of a worker keep the whole map in memory. */
function withoutSources(code: string): string {
  return code.replace(/(?<=\n\/\/# sourceMappingURL=data:[^\n]*;base64,)[\w+/=]+\s*$/, (encoded) => {
    const { sourcesContent: _, ...map } = JSON.parse(Buffer.from(encoded, "base64").toString());
    return Buffer.from(JSON.stringify(map)).toString("base64");
  });
}
