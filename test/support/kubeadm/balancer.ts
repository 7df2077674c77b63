/**
 * A TCP load balancer for all API servers: forwards connections to the ready API servers in turn, and closes the
 * connections of an API server that is not ready any more.
 */
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { type Backend, Backends, type BackendsOptions } from "./backends.ts";

const connectMs = 1_000;

export class Balancer implements AsyncDisposable {
  readonly #backends: Backends;
  readonly #server: Server;

  private constructor(options: BackendsOptions) {
    this.#backends = new Backends(options);
    this.#server = createServer((client) => {
      client.on("error", () => client.destroy());
      reach(client, this.#backends.inTurn());
    });
  }

  /** Starts to listen on a free port of an address of this host. */
  static async start(host: string, options: BackendsOptions): Promise<Balancer> {
    const balancer = new Balancer(options);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    balancer.#server.once("error", reject).listen(0, host, resolve);
    await promise;
    return balancer;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#backends[Symbol.dispose]();
    await closed;
  }
}

/** Connects to the first backend that accepts the connection; closes the connection if none does. */
function reach(client: Socket, [first, ...others]: readonly Backend[]): void {
  if (first === undefined || client.destroyed) return void client.destroy();
  const [host = "", port = ""] = first.address.split(":");
  const upstream = connect({ host, port: Number(port) });
  const late = setTimeout(() => upstream.destroy(new Error("late")), connectMs);
  const next = (): void => {
    clearTimeout(late);
    reach(client, others);
  };
  upstream.once("error", next);
  upstream.once("connect", () => {
    clearTimeout(late);
    upstream.off("error", next).on("error", () => upstream.destroy());
    if (client.destroyed) return void upstream.destroy();
    for (const socket of [client, upstream]) first.hold(socket);
    join(client, upstream);
  });
}

function join(client: Socket, upstream: Socket): void {
  client.once("close", () => upstream.destroy());
  upstream.once("close", () => client.destroy());
  client.pipe(upstream).pipe(client);
}
