/** Work on one group at a time: each changes what the next has to read. */
import { groupKeyOf } from "../driver.ts";

export class Turns {
  readonly #last = new Map<string, Promise<void>>();

  /** Does it once all that came before for this group has ended, however it did. */
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
