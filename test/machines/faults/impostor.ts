/** A server in the API server's place that records its requests. */
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { KeyedCertificate } from "../../../deploy/local/stack/certificate_authority.ts";

/** Listens with any certificate, and counts the requests with a token. */
export class Impostor implements AsyncDisposable {
  /** Requests that came with a token. */
  tokens = 0;
  readonly #server: ReturnType<typeof createServer>;

  private constructor({ certificatePem, keyPem }: KeyedCertificate) {
    this.#server = createServer({ cert: certificatePem, key: keyPem }, (request, response) => {
      if (request.headers.authorization?.startsWith("Bearer ")) this.tokens++;
      response.writeHead(200).end("{}");
    });
  }

  /** Starts on a free port of an address. */
  static async start(address: string, certificate: KeyedCertificate): Promise<Impostor> {
    const impostor = new Impostor(certificate);
    await new Promise<void>((resolve, reject) => {
      impostor.#server.once("error", reject).listen(0, address, resolve);
    });
    return impostor;
  }

  get url(): string {
    const { address, port } = this.#server.address() as AddressInfo;
    return `https://${address}:${port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}
