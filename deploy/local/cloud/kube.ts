import { CoordinationV1Api, KubeConfig, PatchStrategy, setHeaderOptions } from "@kubernetes/client-node";
import { connectKube, http1Only, type Kube } from "../../../activities/kube/client.ts";
import { messageOf, statusOf } from "../../../activities/kube/status.ts";

/** A connection to an API server with one identity; close it to release its sockets. */
export interface Connection extends Kube {
  readonly config: KubeConfig;
  readonly leases: CoordinationV1Api;
  close(): Promise<void>;
}

/** Call option to send the body as a strategic merge patch, which merges lists by key. */
export const strategicPatch = setHeaderOptions("Content-Type", PatchStrategy.StrategicMergePatch);

interface Dispatcher {
  destroy(): Promise<void>;
}
type CreateDispatcher = (...args: unknown[]) => Dispatcher | undefined;

/** Connects with the current context of a kubeconfig; all calls share sockets. */
export function connect(config: KubeConfig): Connection {
  const close = shareDispatcher(config);
  return { ...connectKube(config), config, leases: config.makeApiClient(CoordinationV1Api), close };
}

/** Connects with the text of a kubeconfig. */
export function connectWith(kubeconfig: string): Connection {
  const config = new KubeConfig();
  config.loadFromString(kubeconfig);
  return connect(config);
}

// client-node 2 creates a dispatcher, and thus a TLS connection, for each call. This function replaces the private
// method that creates the dispatcher by one that always returns the same dispatcher.
function shareDispatcher(config: KubeConfig): () => Promise<void> {
  const create = Reflect.get(config, "createDispatcher") as CreateDispatcher;
  let shared: Dispatcher | undefined;
  let wrapped: unknown;
  const createOnce = (...args: unknown[]): unknown => {
    shared ??= create.apply(config, args);
    return wrapped ??= http1Only(shared);
  };
  Object.defineProperty(config, "createDispatcher", { value: createOnce });
  return async () => {
    const closing = shared;
    shared = undefined;
    wrapped = undefined;
    await closing?.destroy();
  };
}

/**
 * Returns one line with the reason of a failed call; of an API response, the line includes only status and message,
 * because the rest may repeat data of the object.
 */
export function reasonOf(error: unknown): string {
  const status = statusOf(error);
  if (status !== undefined) return `HTTP ${status} ${messageOf(error)}`.trim();
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? `: ${reasonOf(error.cause)}` : "";
  return `${error.message}${cause}`;
}

/** Awaits a call for which the statuses in `fine`, such as 404, count as success. */
export async function settled(call: Promise<unknown>, fine: readonly number[] = [404]): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!fine.includes(statusOf(error) ?? 0)) throw error;
  }
}
