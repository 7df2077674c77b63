import { isDeepStrictEqual } from "node:util";
import { waitUntil } from "../../process/wait_until.ts";
import { type ApiConnection, ApiRefusal } from "../../stack/api_connection.ts";
import type { Stage } from "../stage.ts";

const mergePatch = "application/merge-patch+json";

/** The few verbs with which a story looks at the API server and changes it, as admin. */
export class Cluster {
  readonly #api: ApiConnection;
  readonly #stage: Stage;

  constructor({ api, stage }: { api: ApiConnection; stage: Stage }) {
    this.#api = api;
    this.#stage = stage;
  }

  /** Reads an object; undefined when it does not exist. */
  async get<T>(path: string): Promise<T | undefined> {
    try {
      return await this.#api.call({ method: "GET", path }) as T;
    } catch (error) {
      if (error instanceof ApiRefusal && error.status === 404) return undefined;
      throw error;
    }
  }

  /** Reads all objects of a collection. */
  async list<T>(path: string): Promise<T[]> {
    return (await this.get<{ items: T[] }>(path))?.items ?? [];
  }

  /** Changes an object by a merge patch. */
  async patch(path: string, body: object): Promise<void> {
    await this.#api.call({ method: "PATCH", path, body, contentType: mergePatch });
  }

  /**
   * What a look gives once that is as wanted, or at the end of so many seconds: for what others bring about or take back
   * a moment later, and nobody could rightly judge at once.
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

  /** Waits, at most so many seconds, until a look gives something; a look that fails counts as nothing. */
  async until<T>(what: string, look: () => Promise<T | undefined | false>, seconds = 90): Promise<T> {
    let found: T | undefined;
    const probe = async (): Promise<void> => {
      const seen = await look();
      if (seen === undefined || seen === false) throw new Error("it is not there yet");
      found = seen;
    };
    const { signal } = this.#stage;
    await this.#stage.until(what, waitUntil(probe, { what, timeoutMs: seconds * 1000, signal }));
    return found as T;
  }
}
