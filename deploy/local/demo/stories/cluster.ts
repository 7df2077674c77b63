import { isDeepStrictEqual } from "node:util";
import { waitFor } from "../../process/wait_until.ts";
import type { ApiConnection } from "../../stack/api_connection.ts";
import { ApiObjects } from "../../stack/api_objects.ts";
import type { Waits } from "../waits.ts";

/** An administrator's access to the cluster of a story. */
export class Cluster extends ApiObjects {
  readonly #waits: Waits;

  constructor({ api, waits }: { api: ApiConnection; waits: Waits }) {
    super(api);
    this.#waits = waits;
  }

  /**
   * Returns the result of `look` as soon as it equals `wanted`, or the last result when `seconds` are over; throws if
   * every call of `look` failed. Use it for state that other controllers change with a short delay.
   */
  async settled<T>(what: string, { look, wanted }: { look: () => Promise<T>; wanted: T }, seconds = 120): Promise<T> {
    let last: T | undefined;
    const isSettled = async (): Promise<boolean> => {
      last = await look();
      return isDeepStrictEqual(last, wanted);
    };
    await this.until(what, isSettled, seconds).catch((error: unknown) => {
      this.#waits.signal.throwIfAborted();
      if (last === undefined) throw error;
    });
    return last as T;
  }

  /**
   * Waits at most `seconds` until `look` returns a value other than undefined and false, and returns this value; errors
   * of `look` count as no value.
   */
  async until<T>(what: string, look: () => Promise<T | undefined | false>, seconds = 90): Promise<T> {
    const { signal } = this.#waits;
    return await this.#waits.until(what, waitFor(look, { what, timeoutMs: seconds * 1000, signal }));
  }
}
