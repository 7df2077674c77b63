/** Reads the metrics of Temporal's SDK, which serves them on the loopback address. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** Milliseconds for which a scrape may wait for the SDK's metrics. */
const patienceMs = 2_000;

/** Returns a loopback address with a free port. */
export async function freeLoopback(): Promise<string> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return `127.0.0.1:${port}`;
}

/** Returns the SDK's metrics from an address. */
export async function sdkMetrics(address: string): Promise<string> {
  const response = await fetch(`http://${address}/metrics`, { signal: AbortSignal.timeout(patienceMs) });
  return await response.text();
}
