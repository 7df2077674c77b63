/** A client of Temporal, over the SDK's native connection. */
import { Client } from "@temporalio/client";
import type { NativeConnection as Connection } from "@temporalio/worker";
import { NativeConnection } from "@temporalio/worker/lib/connection.js";
import process from "node:process";
import { setTimeout } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { readTemporalServer, type TemporalServer } from "../activities/temporal/temporal_server.ts";

type Access = TemporalServer["access"];

interface Opened {
  client: Client;
  connection: Connection;
  access: Access;
}

/** Returns the current credentials of this process, from its environment and files. */
export function accessOfProcess(): Access {
  return readTemporalServer(process.env).access;
}

/** Milliseconds for which a previous connection stays open, because a caller may still use its client. */
const partingMs = 60_000;

/**
 * Connects at the first use, and again after a failure, so that a process may start before the server. The connection
 * is native, because Deno 2.9 crashes when a server closes an idle connection of Deno's own HTTP/2
 * (github.com/denoland/deno/issues/36788), and Temporal closes idle connections after some minutes. NativeConnection is
 * imported alone, because the rest of its package would load webpack.
 */
export class LazyClient {
  #opened: Promise<Opened> | undefined;
  readonly #parting = new Set<Connection>();
  readonly #closed = new AbortController();

  /** `readAccess` returns the current credentials and is called for each connection. */
  constructor(private readonly server: TemporalServer, private readonly readAccess: () => Access) {}

  async get(): Promise<Client> {
    return (await this.#open()).client;
  }

  /** Returns the connection of the client, for a worker. */
  async connection(): Promise<Connection> {
    return (await this.#open()).connection;
  }

  /**
   * Opens another connection if the credentials have changed since the last one. If the new connection is refused or
   * the credentials cannot be read, keeps the current connection and throws: the files may be only half updated.
   */
  async renew(): Promise<"Renewed" | "Same" | "NeverOpened"> {
    const opened = await this.#opened?.catch(() => undefined);
    // Without a connection there is nothing to renew; the first one reads the credentials anyway.
    if (!opened) return "NeverOpened";
    const access = this.readAccess();
    if (isDeepStrictEqual(access, opened.access)) return "Same";
    const next = await this.#connect(access);
    this.#opened = Promise.resolve(next);
    void this.#part(opened.connection);
    if (this.#closed.signal.aborted) await next.connection.close();
    return "Renewed";
  }

  /** Closes all connections. */
  async close(): Promise<void> {
    this.#closed.abort();
    const opened = await this.#opened?.catch(() => undefined); // without a connection there is nothing to close
    if (opened) this.#parting.add(opened.connection);
    await Promise.all([...this.#parting].map((each) => each.close()));
  }

  #open(): Promise<Opened> {
    const opening = this.#opened ??= (async () => await this.#connect(this.readAccess()))();
    return opening.catch((error: unknown) => {
      if (this.#opened === opening) this.#opened = undefined;
      throw error;
    });
  }

  async #connect(access: Access): Promise<Opened> {
    const { address, namespace } = this.server;
    const connection = await NativeConnection.connect({ address, ...access });
    return { client: new Client({ connection, namespace }), connection, access };
  }

  async #part(connection: Connection): Promise<void> {
    this.#parting.add(connection);
    try {
      await setTimeout(partingMs, undefined, { signal: this.#closed.signal, ref: false });
      await connection.close();
      this.#parting.delete(connection);
    } catch {
      // A worker still uses the connection; `close` closes it at the end of the process.
    }
  }
}
