/** The body of a request, and its share of the memory that all of them may take. */
import type { IncomingMessage } from "node:http";

/** Bytes of all bodies that are being judged, and how many there may be. */
export interface HeldBytes {
  bytes: number;
  readonly atMost: number;
}

/** The API server sends an object and its predecessor, each of at most 3 MiB. */
const largest = 8 * 1024 * 1024;

/** Counts against the others from its first byte until it is disposed. */
export class HeldBody {
  readonly #held: HeldBytes;
  #chunks: Uint8Array[] = [];
  #size = 0;
  #counted = 0;

  constructor(held: HeldBytes) {
    this.#held = held;
  }

  /** Reads it whole; gives the status of a refusal where it is too large, or there is no room beside the others. */
  async read(request: IncomingMessage): Promise<413 | 429 | undefined> {
    let isCrowded = false;
    // The rest is read and dropped, as who is still writing hears no answer.
    for await (const chunk of request as AsyncIterable<Uint8Array>) {
      this.#size += chunk.length;
      isCrowded ||= this.#held.bytes + chunk.length > this.#held.atMost;
      if (isCrowded || this.#size > largest) this.#drop();
      else this.#keep(chunk);
    }
    return this.#size > largest ? 413 : isCrowded ? 429 : undefined;
  }

  /** Its text, once. */
  take(): string {
    const text = Buffer.concat(this.#chunks).toString("utf8");
    this.#chunks = [];
    return text;
  }

  [Symbol.dispose](): void {
    this.#drop();
  }

  #keep(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    this.#counted += chunk.length;
    this.#held.bytes += chunk.length;
  }

  #drop(): void {
    this.#chunks = [];
    this.#held.bytes -= this.#counted;
    this.#counted = 0;
  }
}
