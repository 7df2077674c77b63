/** A client of the Temporal server, over the SDK's native connection. */
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

/** What lets this process in, as its environment and files say now. */
export function accessOfProcess(): Access {
  return readTemporalServer(process.env).access;
}

/** Milliseconds for which a connection of before is kept, as somebody may still hold its client. */
const partingMs = 60_000;

/**
 * Connects when first asked, and again after a failure, so that a process may start before the server does.
 * Native, because Deno 2.9 dies when a server says goodbye to an idle connection of its own HTTP/2
 * (github.com/denoland/deno/issues/36788), and Temporal does so after some minutes. Imported by itself: with it the
 * worker's package brings webpack, which the controller has no use for.
 */
export class LazyClient {
  #opened: Promise<Opened> | undefined;
  readonly #parting = new Set<Connection>();
  readonly #closed = new AbortController();

  /** `readAccess` tells what lets us in now; it is asked at each connection. */
  constructor(private readonly server: TemporalServer, private readonly readAccess: () => Access) {}

  async get(): Promise<Client> {
    return (await this.#open()).client;
  }

  /** As `get`, for a worker. */
  async connection(): Promise<Connection> {
    return (await this.#open()).connection;
  }

  /**
   * Takes another connection where what lets us in has changed since ours was made. Throws where the new one is refused,
   * or what is new cannot be read: ours stays then, as half of a change may be all that stands on the disk.
   */
  async renew(): Promise<"Renewed" | "Same" | "NeverOpened"> {
    const opened = await this.#opened?.catch(() => undefined);
    // Whoever connects first reads anew.
    if (!opened) return "NeverOpened";
    const access = this.readAccess();
    if (isDeepStrictEqual(access, opened.access)) return "Same";
    const next = await this.#connect(access);
    this.#opened = Promise.resolve(next);
    void this.#part(opened.connection);
    if (this.#closed.signal.aborted) await next.connection.close();
    return "Renewed";
  }

  /** Closes the connections that there are. */
  async close(): Promise<void> {
    this.#closed.abort();
    const opened = await this.#opened?.catch(() => undefined); // never connected: nothing to close
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
      // Closed with all others, or a worker that does not end still holds it: it is closed at the end.
    }
  }
}
