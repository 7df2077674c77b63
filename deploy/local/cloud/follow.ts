import { type KubernetesListObject, type KubernetesObject, ListWatch } from "@kubernetes/client-node";
import { type Connection, reasonOf } from "./kube.ts";
import { rest } from "./patience.ts";
import { HttpsWatch } from "../../../activities/kube/https_watch.ts";

/** The collection to watch, and the listeners to its changes. */
export interface Following<T extends KubernetesObject> {
  connection: Connection;
  /** API path of the collection. */
  path: string;
  list: () => Promise<KubernetesListObject<T>>;
  fieldSelector?: string;
  changed: (object: T) => void;
  gone?: (object: T) => void;
  log: (line: string) => void;
  signal: AbortSignal;
}

const giveUpAfterSeconds = 600;

/**
 * Watches a collection until the signal aborts, and returns its cache. Restarts the watch after each error. Stops the
 * watch for good when errors have occurred for ten minutes, with at most a minute from each error to the next.
 */
export async function follow<T extends KubernetesObject>(following: Following<T>): Promise<ListWatch<T>> {
  const { connection, path, list, signal, log } = following;
  const watch = new ListWatch<T>(
    path,
    new HttpsWatch(connection.config),
    list,
    false,
    undefined,
    following.fieldSelector,
  );
  watch.on("add", following.changed);
  watch.on("update", following.changed);
  watch.on("delete", (object) => following.gone?.(object));
  const failures = new FailingPeriod();
  watch.on("error", async (error: unknown) => {
    if (signal.aborted) return;
    const failingSeconds = failures.note();
    if (failingSeconds === 0) log(`watch of ${path} failed: ${reasonOf(error)}`);
    if (failingSeconds > giveUpAfterSeconds) {
      return log(`watch of ${path} stopped: it failed for ${giveUpAfterSeconds} s`);
    }
    await rest(Math.min(0.5 + failingSeconds / 4, 5), signal);
    if (!signal.aborted) await watch.start();
  });
  signal.addEventListener("abort", () => void watch.stop(), { once: true });
  await watch.start();
  return watch;
}

// Measures for how many seconds a watch has been failing. A watch does not report that it has connected, so a minute
// without an error ends the failing period.
class FailingPeriod {
  #since = 0;
  #last = 0;

  note(): number {
    const now = Date.now();
    if (now - this.#last > 60_000) this.#since = now;
    this.#last = now;
    return (now - this.#since) / 1000;
  }
}
