/** A door before a server that opens by TLS, and to certificates of named authorities only. */
import { connect } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { createServer } from "node:tls";
import type { Server, TLSSocket } from "node:tls";
import { CertificateAuthority } from "../stack/certificate_authority.ts";

/** An authority, and the name that its certificates tell. */
export interface Named {
  name: string;
  authority: CertificateAuthority;
}

/** A new one. */
export async function authorityOf(name: string): Promise<Named> {
  return { name, authority: await CertificateAuthority.create(name) };
}

/** What the door's own certificate is for. */
export const doorName = "temporal.example";

export interface DoorOptions {
  /** "host:port" of the server behind it. */
  behind: string;
  /** Makes the door's own certificate. */
  own: Named;
  /** Whose certificates open it; those of `own` unless told. */
  accepts?: readonly Named[];
  /** A free one unless told. */
  port?: number;
}

export class TlsDoor {
  /** Who is in, and whose certificate each brought. */
  readonly #callers = new Map<TLSSocket, string>();
  /** Who has knocked, let in or not. */
  readonly #connections = new Set<Socket>();

  private constructor(private readonly server: Server) {
    server.on("connection", (connection: Socket) => {
      this.#connections.add(connection);
      connection.once("close", () => void this.#connections.delete(connection));
    });
  }

  /** Listens on loopback. */
  static async open({ behind, own, accepts = [own], port = 0 }: DoorOptions): Promise<TlsDoor> {
    const leaf = await own.authority.issue({ commonName: "temporal", use: "server", dnsNames: [doorName] });
    const ca = accepts.map(({ authority }) => authority.certificatePem);
    const pair = { cert: leaf.certificatePem, key: leaf.keyPem };
    // HTTP/2 alone, as gRPC speaks it.
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

  /** The names of the authorities of all who are in, one for each connection. */
  get issuers(): string[] {
    return [...this.#callers.values()];
  }

  /** Closes it, also to those who are in, and to those whose handshake is under way, for whom it would stay open. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()));
    for (const each of [...this.#callers.keys(), ...this.#connections]) each.destroy();
    await closed;
  }

  #letIn(caller: TLSSocket, names: readonly string[], behind: string): void {
    const issuer = String(caller.getPeerCertificate()?.issuer?.CN);
    // Who resumes a session of the door of before brings the certificate of then, which Deno takes without a look.
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
