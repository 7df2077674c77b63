import { deepEqual, equal } from "node:assert/strict";
import { holderOf } from "../../../activities/backends/machine_controller/annotations.ts";
import { workflowIdOf } from "../../../workflows/commands/start_options.ts";
import * as messages from "../../../workflows/commands/messages.ts";
import { pool } from "../../support/machine_objects.ts";

Deno.test("every message bears on the wire the name of its constant", () => {
  const names = Object.entries(messages).map(([constant, { name }]) => [constant, name]);
  deepEqual(names.map(([, name]) => name), names.map(([constant]) => constant));
  deepEqual(names.map(([constant]) => constant).sort(), [
    ...["abort", "abortRequested", "approve", "approveRequested", "desiredChanged", "pause", "pauseRequested"],
    ...["progress", "promote", "promoteRequested", "resume", "resumeRequested", "retry", "retryRequested"],
    ...["skip", "skipRequested"],
  ]);
});

Deno.test("holds and marks bear the id of the workflow that may take them back", () => {
  equal(holderOf(pool), workflowIdOf(pool));
  equal(workflowIdOf(pool), "machine-deployment/fleet/pool");
});
