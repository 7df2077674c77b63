/**
 * The front of Temporal for pods: a proxy that listens on an address of this host, requires TLS with client
 * certificates, and can interrupt all connections.
 */
import { freePorts } from "../process/free_ports.ts";
import type { KeyedCertificate } from "../stack/certificate_authority.ts";
import { authorityOf, type Named, TlsDoor } from "./tls_door.ts";
import { connect, createServer, type Server, type Socket } from "node:net";

/** Client credentials in PEM, and the CAs of the server. */
export interface Access extends KeyedCertificate {
  caPem: string;
}

interface Parts {
  /** "host:port" of the server behind the front. */
  behind: string;
  relay: Relay;
  door: TlsDoor;
  old: Named;
  next: Named;
}

export class TemporalFront implements AsyncDisposable {
  /** "host:port" on which the front listens. */
  readonly address: string;
  readonly #parts: Parts;

  private constructor(address: string, parts: Parts) {
    this.address = address;
    this.#parts = parts;
  }

  /**
   * Opens the front on `host`, an address of this host, for the server at `behind` ("host:port"); accepts client
   * certificates of the old and the new authority.
   */
  static async open(host: string, behind: string): Promise<TemporalFront> {
    const authorities = { old: await authorityOf("temporal-ca-1"), next: await authorityOf("temporal-ca-2") };
    const { old, next } = authorities;
    const door = await TlsDoor.open({ behind, own: old, accepts: [old, next] });
    const [port = 0] = await freePorts(1);
    const relay = await Relay.open({ at: { host, port }, to: { host: "127.0.0.1", port: door.port } });
    return new TemporalFront(`${host}:${port}`, { ...authorities, behind, relay, door });
  }

  /** Returns credentials of the old authority, with the CA of that authority only. */
  async firstAccess(): Promise<Access> {
    const { old } = this.#parts;
    return { caPem: old.authority.certificatePem, ...await issue(old) };
  }

  /** Returns credentials of the old authority, with the CAs of both authorities. */
  async oldAccess(): Promise<Access> {
    return { caPem: this.#bothPem, ...await issue(this.#parts.old) };
  }

  /** Returns credentials of the new authority, which remain valid after the old authority is retired. */
  async nextAccess(): Promise<Access> {
    return { caPem: this.#bothPem, ...await issue(this.#parts.next) };
  }

  /** Returns whether a client is connected with a certificate of the new authority. */
  get isReached(): boolean {
    return this.#parts.door.issuers.includes(this.#parts.next.name);
  }

  /**
   * Closes all connections; from then on, uses a server certificate of the new authority, and refuses client
   * certificates of the old one.
   */
  async retire(): Promise<void> {
    const { behind, next: own, door } = this.#parts;
    const { port } = door;
    await door.close();
    this.#parts.door = await TlsDoor.open({ behind, own, port });
  }

  /** Closes all connections and refuses new ones if `isCut`, else accepts connections again. */
  cut(isCut: boolean): void {
    this.#parts.relay.cut(isCut);
  }

  get #bothPem(): string {
    const { old, next } = this.#parts;
    return `${old.authority.certificatePem}${next.authority.certificatePem}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#parts.relay[Symbol.asyncDispose]();
    await this.#parts.door.close();
  }
}

async function issue({ authority }: Named): Promise<KeyedCertificate> {
  return await authority.issue({ commonName: "ostler", use: "client" });
}

// The relay forwards connections to a server that listens elsewhere, and can be interrupted.

/** An address and a port. */
interface RelayEnd {
  host: string;
  port: number;
}

export class Relay implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #to: RelayEnd;
  #isCut = false;

  private constructor(to: RelayEnd) {
    this.#to = to;
    this.#server = createServer((socket) => this.#handOn(socket));
  }

  /** Listens on `at` and forwards connections to `to`. */
  static async open({ at, to }: { at: RelayEnd; to: RelayEnd }): Promise<Relay> {
    const relay = new Relay(to);
    await new Promise<void>((resolve, reject) => {
      relay.#server.once("error", reject);
      relay.#server.listen(at.port, at.host, resolve);
    });
    return relay;
  }

  /** Closes all connections and refuses new ones if `isCut`, else accepts new connections again. */
  cut(isCut: boolean): void {
    this.#isCut = isCut;
    if (isCut) this.#endAll();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#endAll();
    await closed;
  }

  #endAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #handOn(from: Socket): void {
    if (this.#isCut) {
      from.destroy();
      return;
    }
    const to = connect(this.#to);
    for (const [socket, other] of [[from, to], [to, from]] as const) {
      this.#sockets.add(socket);
      socket.on("error", () => other.destroy()); // an error of one socket ends both
      socket.once("close", () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  }
}
