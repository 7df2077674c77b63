/** What wakes a wait: changes of the objects that it is about, as shared watches tell of them. */
import type { Change, SharedWatch } from "./shared_watch.ts";

/** Some objects of one kind. */
export interface Source {
  /** All changes of them are told at the moment. */
  isFresh(): boolean;
  /** Calls back for each change of one of them; what concerns may become clear only when it is asked. */
  listen(tell: (concerns: () => boolean) => void): () => void;
}

/** Those objects of a watch that `concerns` picks. */
export function sourceOf<T>(watch: SharedWatch<T>, concerns: (change: Change<T>) => boolean): Source {
  return {
    isFresh: () => watch.isFresh,
    listen: (tell) => watch.listen((change) => tell(() => concerns(change))),
  };
}

/** Changes that may come during one look before they are all taken for news. */
const most = 1_000;

export class News implements Disposable {
  readonly #sources: readonly Source[];
  readonly #ends: (() => void)[];
  /** What came since the look began: whom a look finds decides what concerns it. */
  #pending: (() => boolean)[] = [];
  #wake: (() => void) | undefined;
  #isNew = false;

  constructor(sources: readonly Source[]) {
    this.#sources = sources;
    this.#ends = sources.map((source) => source.listen((concerns) => this.#hear(concerns)));
  }

  /** All news is heard of at once; else who waits has to look by itself. */
  get isHeard(): boolean {
    return this.#sources.every((source) => source.isFresh());
  }

  /** The last wait for it ended with news, and not by the clock. */
  get isNew(): boolean {
    return this.#isNew;
  }

  /** A look begins, which sees all that has happened until now. */
  begin(): void {
    this.#pending = [];
  }

  /** Waits for news since the look began; true when there is any, false after `ms`. */
  async next(ms: number, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    const isPending = this.#pending.length > most || this.#pending.some((concerns) => concerns());
    this.#pending = [];
    return this.#isNew = isPending || await this.#wait(ms, signal);
  }

  async #wait(ms: number, signal: AbortSignal): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => resolve(false), ms);
    const stop = (): void => resolve(false);
    signal.addEventListener("abort", stop, { once: true });
    this.#wake = () => resolve(true);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#wake = undefined;
      signal.removeEventListener("abort", stop);
      signal.throwIfAborted();
    }
  }

  [Symbol.dispose](): void {
    for (const end of this.#ends) end();
  }

  #hear(concerns: () => boolean): void {
    if (!this.#wake) {
      if (this.#pending.length <= most) this.#pending.push(concerns);
    } else if (concerns()) this.#wake();
  }
}
