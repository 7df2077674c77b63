import { bundleWorkflowCode, DefaultLogger, Runtime, Worker } from "@temporalio/worker";
import { deepEqual, ok, rejects } from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import * as workflows from "../../workflows/mod.ts";

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

/** Replays a history with today's workflows; rejects if they decide differently. */
async function follow(text: string): Promise<void> {
  const history = JSON.parse(text) as History;
  const { workflowId } = history.events[0].workflowExecutionStartedEventAttributes;
  await Worker.runReplayHistory({ workflowBundle }, history, workflowId);
}

function textOf(name: string): string {
  return readFileSync(join(folder, name), "utf8");
}

function replayTest(name: string, fn: () => Promise<void>): void {
  // The native part of the SDK keeps its own handles between tests.
  Deno.test({ name, fn, sanitizeOps: false, sanitizeResources: false });
}

for (const name of names) replayTest(`replay: today's workflows replay ${name}`, () => follow(textOf(name)));

replayTest("rollOutMachineDeployment: fails to replay a history in which an activity was renamed", async () => {
  const rolling = names.find((name) => name.endsWith("-rolling.json"));
  ok(rolling, "Found no recorded rolling history: run deno task replay:record");
  const changed = textOf(rolling).replaceAll("awaitReplacementJoined", "awaitReplacementForgotten");
  await rejects(follow(changed), { name: "DeterminismViolationError" });
});

/** Returns the input with which the run of a recorded history was started. */
function inputOf(name: string): { carried?: object } {
  const { events } = JSON.parse(textOf(name)) as {
    events: [{ workflowExecutionStartedEventAttributes: { input: { payloads: { data: string }[] } } }];
  };
  const [{ data } = { data: "" }] = events[0].workflowExecutionStartedEventAttributes.input.payloads;
  return JSON.parse(atob(data)) as { carried?: object };
}

Deno.test("fault E13: each workflow has a recorded history, and one history of a MachineDeployment begins with the state of a previous run", () => {
  const folders = Object.keys(workflows).map((name) =>
    name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  );
  deepEqual([...new Set(names.map((name) => dirname(name)))], folders.toSorted());
  const pools = names.filter((name) => name.startsWith("roll_out_machine_deployment/"));
  ok(pools.some((name) => Object.keys(inputOf(name).carried ?? {}).length > 0));
});
