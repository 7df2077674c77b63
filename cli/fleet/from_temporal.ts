/** Runs the work of commands that use Temporal, but not Kubernetes. */
import type { Server } from "../connect/server.ts";
import { temporalFailure } from "../connect/temporal_failure.ts";
import type { World } from "../connect/world.ts";

/** Runs work with a connection to Temporal; failures get an exit code. Kubernetes is not used. */
export async function fromTemporal<T>(world: World, work: (server: Server) => Promise<T>): Promise<T> {
  const server = await world.server();
  try {
    return await work(server);
  } catch (error) {
    throw temporalFailure(server.address, error);
  }
}
