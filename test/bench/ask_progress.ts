// deno-lint-ignore-file no-console -- the bench that starts it reads its output
/** Queries a run for its progress once a second, and prints how long each answer took in milliseconds. */
import { Client } from "@temporalio/client";
import { NativeConnection } from "@temporalio/worker";

const [address = "", workflowId = ""] = Deno.args;
const client = new Client({ connection: await NativeConnection.connect({ address }) });
for (;;) {
  const asked = performance.now();
  try {
    await client.workflow.getHandle(workflowId).query("progress");
    console.log(Math.round(performance.now() - asked));
  } catch {
    // between two runs of a chain, or after the last one, there is no answer
  }
  await new Promise((resolve) => setTimeout(resolve, 1000));
}
