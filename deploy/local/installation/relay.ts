/** Hands connections on from an address to a server that listens elsewhere, unless it is cut. */
import { connect, createServer, type Server, type Socket } from "node:net";

/** An address of a host and a port. */
export interface RelayEnd {
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
