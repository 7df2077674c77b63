/** Serializes work on each group, because each change must read the result of the previous one. */
import { groupKeyOf } from "../driver.ts";

export class Turns {
  readonly #last = new Map<string, Promise<void>>();

  /** Runs the work once all earlier work on the group has ended, successfully or not. */
  async take<T>(group: string, work: () => Promise<T>): Promise<T> {
    const key = groupKeyOf(group);
    const before = this.#last.get(key);
    const own = (async () => {
      await before;
      return await work();
    })();
    const ended = own.then(() => {}, () => {});
    this.#last.set(key, ended);
    await ended;
    if (this.#last.get(key) === ended) this.#last.delete(key);
    return await own;
  }
}
