/** Builds the workflow bundle that a worker loads in production instead of bundling at every start. */
import { bundleWorkflowCode } from "@temporalio/worker";
import { writeFile } from "node:fs/promises";
import process from "node:process";
import { fileURLToPath } from "node:url";

const target = process.argv[2] ?? "workflow_bundle.js";
const workflowsPath = fileURLToPath(new URL("../workflows/mod.ts", import.meta.url));
const { code } = await bundleWorkflowCode({ workflowsPath });
await writeFile(target, code);
process.stderr.write(`Wrote ${target}, ${code.length} characters\n`);
