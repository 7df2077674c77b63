/** An API server over TLS that lists and streams a test's objects, for the watches of the controller. */
import { KubeConfig } from "@kubernetes/client-node";
import { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import { type Cluster, openCluster } from "../../activities/cluster.ts";
import { connectKube, pooled } from "../../activities/kube/client.ts";
import { HttpsWatch } from "../../activities/kube/https_watch.ts";
import { startTlsServer } from "../unit/deploy/cloud/tls_server.ts";
import type { TlsServer } from "../unit/deploy/cloud/tls_server.ts";

interface Watched {
  metadata: { name: string; namespace?: string; resourceVersion?: string; [field: string]: unknown };
  [field: string]: unknown;
}

export class WatchedApi {
  /** Paths and queries of the requested lists, in order. */
  readonly lists: string[] = [];
  /** Objects per page of a list, whatever limit a request has. */
  pageSize = 500;
  /** HTTP status of the answers to lists and watches, by path; 200 by default. */
  readonly refused = new Map<string, number>();
  #objects = new Map<string, Map<string, Watched>>();
  #streams = new Map<string, Set<ServerResponse>>();
  #version = 0;
  #server!: TlsServer;

  static async start(): Promise<WatchedApi> {
    const api = new WatchedApi();
    api.#server = await startTlsServer((request, response) => api.#answer(request, response));
    return api;
  }

  get config(): KubeConfig {
    const config = new KubeConfig();
    const caData = Buffer.from(this.#server.ca).toString("base64");
    const cluster = { name: "c", server: this.#server.url, caData, skipTLSVerify: false };
    config.loadFromClusterAndUser(cluster, { name: "u", token: "t" });
    return config;
  }

  get kube(): Cluster {
    const config = pooled(this.config);
    return openCluster({ ...connectKube(config), watch: new HttpsWatch(config) });
  }

  /**
   * Stores an object under the path of its kind, such as "/api/v1/nodes", and streams it to all watches of that path.
   */
  put(path: string, object: Watched): void {
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(++this.#version) } };
    const objects = this.#of(path);
    const type = objects.has(keyOf(object)) ? "MODIFIED" : "ADDED";
    objects.set(keyOf(object), stored);
    this.#stream(path, { type, object: stored });
  }

  remove(path: string, object: Watched): void {
    this.#of(path).delete(keyOf(object));
    this.#stream(path, { type: "DELETED", object });
  }

  /** Returns how many watches of a path are open. */
  watches(path: string): number {
    return this.#streams.get(path)?.size ?? 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]();
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? "/", this.#server.url);
    const status = this.refused.get(url.pathname);
    if (status !== undefined) return void response.writeHead(status).end();
    if (url.searchParams.get("watch")) return this.#open(url.pathname, response);
    this.lists.push(`${url.pathname}${url.search}`);
    const all = [...this.#of(url.pathname).values()];
    const from = Number(url.searchParams.get("continue") ?? 0);
    const end = from + this.pageSize;
    const more = end < all.length ? { continue: String(end) } : {};
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify({
      metadata: { resourceVersion: String(this.#version), ...more },
      items: all.slice(from, end),
    }));
  }

  #open(path: string, response: ServerResponse): void {
    const streams = this.#streams.get(path) ?? new Set();
    this.#streams.set(path, streams.add(response));
    response.on("close", () => streams.delete(response));
    response.writeHead(200).flushHeaders();
  }

  #stream(path: string, event: object): void {
    for (const stream of this.#streams.get(path) ?? []) stream.write(`${JSON.stringify(event)}\n`);
  }

  #of(path: string): Map<string, Watched> {
    const objects = this.#objects.get(path) ?? new Map<string, Watched>();
    this.#objects.set(path, objects);
    return objects;
  }
}

function keyOf({ metadata }: Watched): string {
  return `${metadata.namespace ?? ""}/${metadata.name}`;
}
