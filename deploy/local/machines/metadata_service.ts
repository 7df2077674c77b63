/**
 * Serves instance metadata and user-data to a booting machine, like the metadata service of a cloud (NoCloud over
 * HTTP).
 */
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** The data that is served to one machine. */
export interface Offer {
  /** Instance id; with another id, cloud-init treats the machine as new. */
  instanceId: string;
  hostname: string;
  userData: string;
  /**
   * The machine's address, the only client address that gets this data; known shortly after the machine has started.
   */
  address: Promise<string>;
  /** Called when the user-data was served. */
  onFetched: () => void;
}

/** A metadata service on one address of this host. */
export class MetadataService {
  readonly #server: Server;
  readonly #offers = new Map<string, Offer>();

  private constructor() {
    this.#server = createServer((request, response) => {
      const from = request.socket.remoteAddress ?? "";
      this.#answer(request.url ?? "", from, response).catch(() => response.destroy());
    });
  }

  /** Starts to listen on a free port of this address. */
  static async start(address: string): Promise<MetadataService> {
    const service = new MetadataService();
    await new Promise<void>((resolve, reject) => {
      service.#server.once("error", reject).listen(0, address, resolve);
    });
    return service;
  }

  /** Offers data to a machine; returns the boot argument with which cloud-init requests it. */
  offer(name: string, offer: Offer): string {
    this.#offers.set(name, offer);
    const { address, port } = this.#server.address() as AddressInfo;
    return `ds=nocloud-net;s=http://${address}:${port}/${name}/`;
  }

  /** Removes the data of a machine; an unknown machine counts as success. */
  withdraw(name: string): void {
    this.#offers.delete(name);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  async #answer(url: string, from: string, response: ServerResponse): Promise<void> {
    const [, name = "", file = ""] = /^\/([^/]+)\/([a-z-]+)$/.exec(url) ?? [];
    const offer = this.#offers.get(name);
    const text = offer === undefined ? undefined : textOf(offer, file);
    if (offer === undefined || text === undefined) return void response.writeHead(404).end();
    // User-data has the machine's token, so other clients are refused.
    if (await offer.address !== from) return void response.writeHead(403).end();
    response.writeHead(200, { "content-type": "text/plain" }).end(text);
    if (file === "user-data") offer.onFetched();
  }
}

function textOf({ instanceId, hostname, userData }: Offer, file: string): string | undefined {
  const files: Record<string, string> = {
    "meta-data": `instance-id: ${instanceId}\nlocal-hostname: ${hostname}\n`,
    "user-data": userData,
    "vendor-data": "",
  };
  return files[file];
}
