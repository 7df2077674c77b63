/** The metrics of Temporal's SDK, which serves them itself: on the loopback, from where they are taken into ours. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** As long as a scrape may wait for them. */
const patienceMs = 2_000;

/** A loopback address where nobody listens. */
export async function freeLoopback(): Promise<string> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return `127.0.0.1:${port}`;
}

/** What the SDK tells at an address. */
export async function sdkMetrics(address: string): Promise<string> {
  const response = await fetch(`http://${address}/metrics`, { signal: AbortSignal.timeout(patienceMs) });
  return await response.text();
}
