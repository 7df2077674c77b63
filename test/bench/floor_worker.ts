// deno-lint-ignore-file no-console -- the parent waits for a line in its log
/** A worker of the workflow that does nothing; its arguments are Temporal's address and the workflow's bundle. */
import { NativeConnection, Worker } from "@temporalio/worker";

const [address = "", codePath = ""] = Deno.args;
const worker = await Worker.create({
  connection: await NativeConnection.connect({ address }),
  taskQueue: "floor",
  workflowBundle: { codePath },
  activities: { nothing: () => Promise.resolve() },
});
const done = worker.run();
console.log("at work");
await done;
