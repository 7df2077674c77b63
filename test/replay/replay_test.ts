import { bundleWorkflowCode, DefaultLogger, Runtime, Worker } from "@temporalio/worker";
import { ok, rejects } from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("./histories/", import.meta.url));
const workflowsPath = fileURLToPath(new URL("../../workflows/mod.ts", import.meta.url));
const logger = new DefaultLogger("ERROR");
const files = existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: "utf8" }) : [];
const names = files.filter((name) => name.endsWith(".json")).sort();

Runtime.install({ logger });
const workflowBundle = await bundleWorkflowCode({ workflowsPath, logger });

interface History {
  events: [{ workflowExecutionStartedEventAttributes: { workflowId: string } }];
}

/** Follows a history with today's workflows; rejects where it cannot. */
async function follow(text: string): Promise<void> {
  const history = JSON.parse(text) as History;
  const { workflowId } = history.events[0].workflowExecutionStartedEventAttributes;
  await Worker.runReplayHistory({ workflowBundle }, history, workflowId);
}

function textOf(name: string): string {
  return readFileSync(join(folder, name), "utf8");
}

function replayTest(name: string, fn: () => Promise<void>): void {
  // The native part of the SDK keeps handles of its own between tests.
  Deno.test({ name, fn, sanitizeOps: false, sanitizeResources: false });
}

for (const name of names) replayTest(`today's workflows follow ${name}`, () => follow(textOf(name)));

replayTest("rollOutMachineDeployment does not follow a history in which another step was taken", async () => {
  const rolling = names.find((name) => name.endsWith("-rolling.json"));
  ok(rolling, "no rolling history is recorded: run deno task replay:record");
  const changed = textOf(rolling).replaceAll("awaitReplacementJoined", "awaitReplacementForgotten");
  await rejects(follow(changed), { name: "DeterminismViolationError" });
});
