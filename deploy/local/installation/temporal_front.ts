/** Temporal as pods reach it: over TLS, with a certificate of who asks, at an address of this host that can be cut. */
import { freePorts } from "../process/free_ports.ts";
import type { KeyedCertificate } from "../stack/certificate_authority.ts";
import { authorityOf, type Named, TlsDoor } from "./tls_door.ts";
import { connect, createServer, type Server, type Socket } from "node:net";

/** What lets somebody in, in PEM, and by what the server is known. */
export interface Access extends KeyedCertificate {
  caPem: string;
}

interface Parts {
  /** "host:port" of the server behind it. */
  behind: string;
  relay: Relay;
  door: TlsDoor;
  old: Named;
  next: Named;
}

export class TemporalFront implements AsyncDisposable {
  /** "host:port" where it is asked. */
  readonly address: string;
  readonly #parts: Parts;

  private constructor(address: string, parts: Parts) {
    this.address = address;
    this.#parts = parts;
  }

  /** Opens it at an address of this host, before the server at "host:port". It takes two authorities' certificates. */
  static async open(host: string, behind: string): Promise<TemporalFront> {
    const authorities = { old: await authorityOf("temporal-ca-1"), next: await authorityOf("temporal-ca-2") };
    const { old, next } = authorities;
    const door = await TlsDoor.open({ behind, own: old, accepts: [old, next] });
    const [port = 0] = await freePorts(1);
    const relay = await Relay.open({ at: { host, port }, to: { host: "127.0.0.1", port: door.port } });
    return new TemporalFront(`${host}:${port}`, { ...authorities, behind, relay, door });
  }

  /** What lets in at first. */
  async firstAccess(): Promise<Access> {
    const { old } = this.#parts;
    return { caPem: old.authority.certificatePem, ...await issue(old) };
  }

  /** What let in before, with the CAs of both times. */
  async oldAccess(): Promise<Access> {
    return { caPem: this.#bothPem, ...await issue(this.#parts.old) };
  }

  /** What lets in from now on, and beyond the day on which that of before is refused. */
  async nextAccess(): Promise<Access> {
    return { caPem: this.#bothPem, ...await issue(this.#parts.next) };
  }

  /** Whether somebody is in by the certificates that are to stay. */
  get isReached(): boolean {
    return this.#parts.door.issuers.includes(this.#parts.next.name);
  }

  /** Shows a certificate of the new authority, and refuses all of the old one; connections end. */
  async retire(): Promise<void> {
    const { behind, next: own, door } = this.#parts;
    const { port } = door;
    await door.close();
    this.#parts.door = await TlsDoor.open({ behind, own, port });
  }

  /** Nobody gets through, or everybody whose certificate is taken. */
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

// Hands connections on from an address to a server that listens elsewhere, unless it is cut.

/** An address of a host and a port. */
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

  /** Listens at `at` for what is meant for `to`. */
  static async open({ at, to }: { at: RelayEnd; to: RelayEnd }): Promise<Relay> {
    const relay = new Relay(to);
    await new Promise<void>((resolve, reject) => {
      relay.#server.once("error", reject);
      relay.#server.listen(at.port, at.host, resolve);
    });
    return relay;
  }

  /** Ends all connections and refuses new ones, or lets them through again. */
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
      socket.on("error", () => other.destroy()); // whichever ends, ends both
      socket.once("close", () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  }
}
