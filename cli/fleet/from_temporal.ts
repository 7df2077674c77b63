/** What is asked of Temporal alone, with the exit codes of trouble with it. */
import type { Server } from "../connect/server.ts";
import { temporalFailure } from "../connect/temporal_failure.ts";
import type { World } from "../connect/world.ts";

/** Does it with a connection; Kubernetes is never asked. */
export async function fromTemporal<T>(world: World, work: (server: Server) => Promise<T>): Promise<T> {
  const server = await world.server();
  try {
    return await work(server);
  } catch (error) {
    throw temporalFailure(server.address, error);
  }
}
