import { ComputeManagementClient } from "@azure/arm-compute";
import { rejects } from "node:assert/strict";
import { Agent } from "node:https";
import { addLimits, limited } from "../../../../../activities/clouds/azure/limits.ts";

/** Lists scale sets with credentials that are never issued. */
async function list({ requestMs, signal }: { requestMs: number; signal?: AbortSignal }): Promise<void> {
  const credential = limited({ getToken: () => new Promise(() => {}) });
  const endpoint = "https://127.0.0.1:9";
  const client = new ComputeManagementClient(credential, "s", { endpoint, retryOptions: { maxRetries: 0 } });
  addLimits(client, { requestMs, signal, agent: new Agent({ keepAlive: false }), isTls: true });
  await Array.fromAsync(client.virtualMachineScaleSets.list("r"));
}

const late = { message: "the credentials were not issued in time" };

Deno.test("fault G6: a request to Azure ends at its timeout, even while its token is fetched", async () => {
  await rejects(list({ requestMs: 50 }), late);
});

Deno.test("fault G6: a request to Azure ends with the signal of its process, even while its token is fetched", async () => {
  const ended = new AbortController();
  setTimeout(() => ended.abort(), 50);
  await rejects(list({ requestMs: 60_000, signal: ended.signal }), late);
});
