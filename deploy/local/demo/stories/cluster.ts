import { isDeepStrictEqual } from "node:util";
import { waitFor } from "../../process/wait_until.ts";
import { type ApiConnection, ApiRefusal } from "../../stack/api_connection.ts";
import type { Stage } from "../stage.ts";

const mergePatch = "application/merge-patch+json";

/** Reads and changes objects of the API server for a story, as administrator. */
export class Cluster {
  readonly #api: ApiConnection;
  readonly #stage: Stage;

  constructor({ api, stage }: { api: ApiConnection; stage: Stage }) {
    this.#api = api;
    this.#stage = stage;
  }

  /** Returns an object; undefined if it does not exist. */
  async get<T>(path: string): Promise<T | undefined> {
    try {
      return await this.#api.call({ method: "GET", path }) as T;
    } catch (error) {
      if (error instanceof ApiRefusal && error.status === 404) return undefined;
      throw error;
    }
  }

  /** Returns all objects of a collection. */
  async list<T>(path: string): Promise<T[]> {
    return (await this.get<{ items: T[] }>(path))?.items ?? [];
  }

  /** Changes an object with a merge patch. */
  async patch(path: string, body: object): Promise<void> {
    await this.#api.call({ method: "PATCH", path, body, contentType: mergePatch });
  }

  /**
   * Returns the result of `look` as soon as it equals `wanted`, or the last result after so many seconds: for state
   * that other controllers change with a short delay.
   */
  async settled<T>(what: string, { look, wanted }: { look: () => Promise<T>; wanted: T }, seconds = 120): Promise<T> {
    let last: T | undefined;
    const isSettled = async (): Promise<boolean> => {
      last = await look();
      return isDeepStrictEqual(last, wanted);
    };
    await this.until(what, isSettled, seconds).catch((error: unknown) => {
      this.#stage.signal.throwIfAborted();
      if (last === undefined) throw error;
    });
    return last as T;
  }

  /** Waits at most so many seconds until `look` returns a value, and returns it; errors of `look` count as no value. */
  async until<T>(what: string, look: () => Promise<T | undefined | false>, seconds = 90): Promise<T> {
    const { signal } = this.#stage;
    return await this.#stage.until(what, waitFor(look, { what, timeoutMs: seconds * 1000, signal }));
  }
}
