/** A machine's way to the API server, which a partition takes down. */
export class Link {
  #isUp = true;
  #waiting = new Set<() => void>();

  get isUp(): boolean {
    return this.#isUp;
  }

  set(isUp: boolean): void {
    this.#isUp = isUp;
    if (!isUp) return;
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }

  /** Throws while the link is down, as a connection attempt would. */
  use(): void {
    if (!this.#isUp) throw new Error("Cannot reach the API server: the machine is partitioned");
  }

  /** Resolves once the link is up or the signal aborts. */
  async whenUp(signal: AbortSignal): Promise<void> {
    if (this.#isUp || signal.aborted) return;
    await new Promise<void>((resolve) => {
      this.#waiting.add(resolve);
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
  }
}
