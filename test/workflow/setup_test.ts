/** `ostler setup` creates a missing namespace and search attributes on a real Temporal server. */
import { deepEqual, equal, match } from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { permissionDenied, TemporalDoor } from "../support/temporal_door.ts";
import type { Ended } from "../support/fake_terminal.ts";
import { onStage } from "../support/workflow_stage.ts";

const test = onStage();

const main = fileURLToPath(new URL("../../cli/main.ts", import.meta.url));

// Runs `ostler setup` in a separate process, because the native runtime of the process of the tests belongs to a
// worker.
async function setUp(address: string, ...more: string[]): Promise<Ended> {
  const args = ["setup", "--no-rights", "--temporal-address", address, ...more];
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-prompt", "--no-check", "--cached-only", "--allow-all", main, ...args],
    env: { NO_COLOR: "1", TEMPORAL_CONFIG_FILE: "/dev/null" },
  }).output();
  const decoder = new TextDecoder();
  return { code, out: decoder.decode(stdout), err: decoder.decode(stderr) };
}

test("ostler setup: makes a namespace that workers can use at once, and finds it on the next run", async (stage) => {
  const made = ["--temporal-namespace", "made"];
  const wanted = await setUp(stage.address, ...made, "--dry-run");
  deepEqual([wanted.code, wanted.err], [0, ""]);
  match(wanted.out, /^namespace "made": would be created/);
  const first = await setUp(stage.address, ...made, "--retention", "3d");
  deepEqual([first.code, first.err], [0, ""]);
  match(first.out, /^namespace "made": created, with a retention of 3d\nsearch attributes: registered "/);
  const { config } = await stage.client.workflowService.describeNamespace({ namespace: "made" });
  equal(Number(config?.workflowExecutionRetentionTtl?.seconds), 3 * 86_400);
  const again = await setUp(stage.address, ...made);
  deepEqual([again.code, again.err], [0, ""]);
  const [namespace, attributes, access] = again.out.split("\n");
  equal(namespace, 'namespace "made": already exists, with a retention of 3d');
  equal(attributes, "search attributes: already exist");
  match(access ?? "", /^access to Temporal: WARNING: .* answers clients without credentials/);
});

test("ostler setup: exits with 1 when Temporal denies writes, and with 4 when it is unreachable", async (stage) => {
  await using door = await TemporalDoor.open(stage.address);
  door.refusal = (method) => /RegisterNamespace/.test(method) ? permissionDenied : undefined;
  const denied = await setUp(door.address, "--temporal-namespace", "other");
  deepEqual([denied.code, denied.err], [1, ""]);
  match(denied.out, /`temporal operator namespace create --namespace other --retention 168h`$/m);
  const absent = await setUp("127.0.0.1:1");
  deepEqual([absent.code, absent.out], [4, ""]);
  match(absent.err, /^Failed to reach Temporal at 127\.0\.0\.1:1: Connection refused\n$/);
});
