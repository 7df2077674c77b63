/** Accepts snapshots by PUT, as an object store does, and keeps the digest of each. */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";

export class SnapshotStore implements AsyncDisposable {
  /** SHA-256 of each snapshot in hex, by file name. */
  readonly digests = new Map<string, string>();
  /** Called when a snapshot begins to arrive. */
  onPut: () => void = () => {};
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      this.#take(request).then(() => response.writeHead(201).end(), () => response.destroy());
    });
  }

  static async open(): Promise<SnapshotStore> {
    const store = new SnapshotStore();
    await new Promise<void>((resolve) => store.#server.listen(0, "127.0.0.1", resolve));
    return store;
  }

  get url(): string {
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}/etcd`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  async #take(request: IncomingMessage): Promise<void> {
    if (request.method !== "PUT") throw new Error(`Failed to accept a "${request.method}"`);
    this.onPut();
    const hash = createHash("sha256");
    for await (const piece of request) hash.update(piece as Uint8Array);
    this.digests.set((request.url ?? "").split("/").at(-1) ?? "", hash.digest("hex"));
  }
}
