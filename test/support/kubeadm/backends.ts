/** Checks which machines behind a load balancer accept requests, by their own health endpoint. */
import type { Socket } from "node:net";
import { httpProbe } from "../../../deploy/local/process/http_probe.ts";

export interface BackendsOptions {
  /** Returns the current `host:port` of each API server. */
  addresses: () => readonly string[];
  /** CA of the API servers' certificates, in PEM. */
  caPem: string;
}

const lookMs = 300;
const answerMs = 1_000;
/** Number of failed checks until a backend is removed, so that one slow response is tolerated. */
const missesUntilOut = 2;

export class Backend {
  isReady = false;
  readonly #url: string;
  readonly #caPem: string;
  readonly #sockets = new Set<Socket>();
  #misses = 0;
  #isAsked = false;

  constructor(readonly address: string, caPem: string) {
    this.#url = `https://${address}/readyz`;
    this.#caPem = caPem;
  }

  /** Checks once; does nothing while another check is running. */
  async look(): Promise<void> {
    if (this.#isAsked) return;
    this.#isAsked = true;
    const probe = httpProbe({ url: this.#url, caPem: this.#caPem });
    const isReady = await probe(AbortSignal.timeout(answerMs)).then(() => true, () => false);
    this.#isAsked = false;
    this.#misses = isReady ? 0 : this.#misses + 1;
    if (isReady) this.isReady = true;
    else if (this.#misses >= missesUntilOut) this.sever();
  }

  /** Tracks a connection to this backend until it closes. */
  hold(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
  }

  /** Closes all connections, so that no client waits for a backend that does not respond. */
  sever(): void {
    this.isReady = false;
    for (const socket of this.#sockets) socket.destroy();
  }
}

/** All backends; disposing of this object closes their connections. */
export class Backends implements Disposable {
  readonly #options: BackendsOptions;
  readonly #known = new Map<string, Backend>();
  readonly #timer: ReturnType<typeof setInterval>;
  #turn = 0;

  constructor(options: BackendsOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#checkAll(), lookMs);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    for (const backend of this.#known.values()) backend.sever();
  }

  /** Returns the ready backends, rotated at each call. */
  inTurn(): Backend[] {
    const wanted = this.#options.addresses();
    const ready = [...this.#known.values()].filter(({ address, isReady }) => isReady && wanted.includes(address));
    const turn = this.#turn++ % Math.max(1, ready.length);
    return [...ready.slice(turn), ...ready.slice(0, turn)];
  }

  #checkAll(): void {
    const wanted = this.#options.addresses();
    for (const [address, backend] of this.#known) {
      if (wanted.includes(address)) continue;
      backend.sever();
      this.#known.delete(address);
    }
    for (const address of wanted) {
      const backend = this.#known.get(address) ?? new Backend(address, this.#options.caPem);
      this.#known.set(address, backend);
      void backend.look();
    }
  }
}
