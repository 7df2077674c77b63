/** The network link of a machine to the API server, which a partition interrupts. */
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

  /** Throws while the link is down, like a connection attempt. */
  use(): void {
    if (!this.#isUp) throw new Error("Failed to reach the API server: the machine is partitioned");
  }

  /** Resolves when the link is up or the signal aborts. */
  async whenUp(signal: AbortSignal): Promise<void> {
    if (this.#isUp || signal.aborted) return;
    await new Promise<void>((resolve) => {
      this.#waiting.add(resolve);
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
  }
}
