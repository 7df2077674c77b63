import { createLogUpdate } from "log-update";
import type { WriteStream } from "node:tty";

/** One line that changes in place. */
export interface LiveLine {
  readonly key: string;
  readonly text: string;
  /** Text that changes so often that only a terminal shows it. */
  readonly aside?: string;
}

/** Prints the progress of a demo for people. */
export interface Narrator {
  /** Prints a text permanently. */
  say(text: string): void;
  /** Shows lines that change in place, below the printed texts. */
  show(lines: readonly LiveLine[]): void;
  /** Makes the current lines permanent; the next `show` starts new lines. */
  settle(): void;
}

/** Returns a narrator whose lines change in place on a terminal; otherwise each change is printed as a new line. */
export function createNarrator(stream: WriteStream): Narrator {
  return stream.isTTY ? new LiveNarrator(stream) : new PlainNarrator((text) => void stream.write(`${text}\n`));
}

/** Writes each line once, and again when it changes, with the seconds since the start in front. */
export class PlainNarrator implements Narrator {
  readonly #write: (text: string) => void;
  readonly #seconds: () => number;
  #last = new Map<string, string>();

  constructor(write: (text: string) => void, seconds: () => number = startClock()) {
    this.#write = write;
    this.#seconds = seconds;
  }

  say(text: string): void {
    this.#write(text);
  }

  show(lines: readonly LiveLine[]): void {
    for (const { key, text } of lines) {
      if (this.#last.get(key) === text) continue;
      this.#last.set(key, text);
      this.#write(`${this.#seconds().toFixed(1).padStart(6)} s  ${text}`);
    }
  }

  settle(): void {
    this.#last.clear();
  }
}

class LiveNarrator implements Narrator {
  readonly #stream: WriteStream;
  readonly #update: ReturnType<typeof createLogUpdate>;
  #frame = "";

  constructor(stream: WriteStream) {
    this.#stream = stream;
    // A hidden cursor would stay hidden if this process is killed.
    this.#update = createLogUpdate(stream, { showCursor: true });
  }

  say(text: string): void {
    this.#update.clear();
    this.#stream.write(`${text}\n`);
    if (this.#frame !== "") this.#update(this.#frame);
  }

  show(lines: readonly LiveLine[]): void {
    // Lines that have scrolled away cannot be changed, so the oldest lines are left out.
    const room = Math.max((this.#stream.rows ?? 24) - 2, 1);
    this.#frame = lines.slice(-room).map(({ text, aside = "" }) => `  ${text}${aside}`).join("\n");
    if (lines.length > 0) this.#update(this.#frame);
  }

  settle(): void {
    this.#update.done();
    this.#frame = "";
  }
}

function startClock(): () => number {
  const start = performance.now();
  return () => (performance.now() - start) / 1000;
}
