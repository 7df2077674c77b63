/** A TLS proxy in front of a server; it accepts only client certificates of given authorities. */
import { connect } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { createServer } from "node:tls";
import type { Server, TLSSocket } from "node:tls";
import { CertificateAuthority } from "../stack/certificate_authority.ts";

/** An authority, and the issuer name of its certificates. */
export interface Named {
  name: string;
  authority: CertificateAuthority;
}

/** Creates an authority. */
export async function authorityOf(name: string): Promise<Named> {
  return { name, authority: await CertificateAuthority.create(name) };
}

/** DNS name in the proxy's own certificate. */
export const doorName = "temporal.example";

interface DoorOptions {
  /** "host:port" of the server behind the proxy. */
  behind: string;
  /** Authority that issues the proxy's own certificate. */
  own: Named;
  /** Authorities whose client certificates are accepted; default is `own`. */
  accepts?: readonly Named[];
  /** Port to listen on; a free port by default. */
  port?: number;
}

export class TlsDoor {
  /** Accepted connections, with the issuer of each client certificate. */
  readonly #callers = new Map<TLSSocket, string>();
  /** All TCP connections, accepted or not. */
  readonly #connections = new Set<Socket>();

  private constructor(private readonly server: Server) {
    server.on("connection", (connection: Socket) => {
      this.#connections.add(connection);
      connection.once("close", () => void this.#connections.delete(connection));
    });
  }

  /** Starts to listen on loopback. */
  static async open({ behind, own, accepts = [own], port = 0 }: DoorOptions): Promise<TlsDoor> {
    const leaf = await own.authority.issue({ commonName: "temporal", use: "server", dnsNames: [doorName] });
    const ca = accepts.map(({ authority }) => authority.certificatePem);
    const pair = { cert: leaf.certificatePem, key: leaf.keyPem };
    // HTTP/2 only, which gRPC uses.
    const server = createServer({ ...pair, ca, requestCert: true, ALPNProtocols: ["h2"] });
    const door = new TlsDoor(server);
    const names = accepts.map(({ name }) => name);
    server.on("secureConnection", (caller: TLSSocket) => door.#letIn(caller, names, behind));
    await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
    return door;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Returns the issuer names of all accepted connections. */
  get issuers(): string[] {
    return [...this.#callers.values()];
  }

  /**
   * Closes the proxy and all connections, including connections with a handshake in progress, which would keep the
   * proxy open.
   */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()));
    for (const each of [...this.#callers.keys(), ...this.#connections]) each.destroy();
    await closed;
  }

  #letIn(caller: TLSSocket, names: readonly string[], behind: string): void {
    const issuer = String(caller.getPeerCertificate()?.issuer?.CN);
    // A client that resumes a TLS session of a previous proxy still presents its old certificate, and Deno accepts that
    // certificate without a check.
    if (!names.includes(issuer)) return void caller.destroy();
    this.#callers.set(caller, issuer);
    caller.once("close", () => void this.#callers.delete(caller));
    const [host = "", port] = behind.split(":");
    const server = connect(Number(port), host);
    for (const [one, other] of [[caller, server], [server, caller]] as const) {
      one.pipe(other);
      one.on("error", () => other.destroy());
      one.on("close", () => other.destroy());
    }
  }
}
