/** Which of the machines behind a balancer take requests, by what they say of themselves. */
import type { Socket } from "node:net";
import { httpProbe } from "../../process/http_probe.ts";

export interface BackendsOptions {
  /** `host:port` of each API server, as of now. */
  addresses: () => readonly string[];
  /** Of the authority that signed their certificates. */
  caPem: string;
}

const lookMs = 300;
const answerMs = 1_000;
/** One that is merely slow is asked once more. */
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

  /** Looks once; while an answer is awaited there is no second look. */
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

  /** Keeps what is connected to it, until that closes. */
  hold(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
  }

  /** Nobody is to wait for the answer of one that gives none. */
  sever(): void {
    this.isReady = false;
    for (const socket of this.#sockets) socket.destroy();
  }
}

/** All of them; disposing of it severs them. */
export class Backends implements Disposable {
  readonly #options: BackendsOptions;
  readonly #known = new Map<string, Backend>();
  readonly #timer: ReturnType<typeof setInterval>;
  #turn = 0;

  constructor(options: BackendsOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#look(), lookMs);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    for (const backend of this.#known.values()) backend.sever();
  }

  /** Those that are ready, another one first each time. */
  inTurn(): Backend[] {
    const wanted = this.#options.addresses();
    const ready = [...this.#known.values()].filter(({ address, isReady }) => isReady && wanted.includes(address));
    const turn = this.#turn++ % Math.max(1, ready.length);
    return [...ready.slice(turn), ...ready.slice(0, turn)];
  }

  #look(): void {
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
