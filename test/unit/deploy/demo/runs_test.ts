import { type Client, NamespaceNotFoundError } from "@temporalio/client";
import assert from "node:assert/strict";
import { Runs } from "../../../../deploy/local/demo/runs.ts";

Deno.test("Runs.open: accepts a missing Temporal namespace, which a story creates later, and rejects with any other failure", async () => {
  const failing = (error: Error): Client => {
    const describe = (): Promise<never> => Promise.reject(error);
    return { workflow: { getHandle: () => ({ describe }) } } as unknown as Client;
  };
  const runs = await Runs.open(failing(new NamespaceNotFoundError("ostler")));
  assert.deepEqual(runs.results, []);
  await assert.rejects(Runs.open(failing(new Error("Temporal is away"))), { message: "Temporal is away" });
});
