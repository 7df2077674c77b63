/** A client of the Temporal server, over the SDK's native connection. */
import { Client } from "@temporalio/client";
import { NativeConnection } from "@temporalio/worker/lib/connection.js";
import type { TemporalServer } from "../activities/temporal/temporal_server.ts";

/**
 * Connects when first asked, and again after a failure, so that a process may start before the server does.
 * Native, because Deno 2.9 dies when a server says goodbye to an idle connection of its own HTTP/2
 * (github.com/denoland/deno/issues/36788), and Temporal does so after some minutes. Imported by itself: with it the
 * worker's package brings webpack, which the controller has no use for.
 */
export class LazyClient {
  #client: Promise<Client> | undefined;

  constructor(private readonly server: TemporalServer) {}

  get(): Promise<Client> {
    this.#client ??= this.#connect().catch((error: unknown) => {
      this.#client = undefined;
      throw error;
    });
    return this.#client;
  }

  /** Closes the connection if there is one. */
  async close(): Promise<void> {
    const client = await this.#client?.catch(() => undefined); // never connected: nothing to close
    await client?.connection.close();
  }

  async #connect(): Promise<Client> {
    const { address, namespace, access } = this.server;
    return new Client({ connection: await NativeConnection.connect({ address, ...access }), namespace });
  }
}
