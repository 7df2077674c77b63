import {
  ApiException,
  CertificatesV1Api,
  CoordinationV1Api,
  CoreV1Api,
  CustomObjectsApi,
  KubeConfig,
  PatchStrategy,
  setHeaderOptions,
} from "@kubernetes/client-node";
import { http1Only } from "../../../activities/kube/client.ts";

/** A connection to an API server with one identity; close it to release its sockets. */
export interface Connection {
  readonly config: KubeConfig;
  readonly core: CoreV1Api;
  readonly custom: CustomObjectsApi;
  readonly certificates: CertificatesV1Api;
  readonly leases: CoordinationV1Api;
  close(): Promise<void>;
}

/** Call option to send the body as a merge patch. */
export const mergePatch = setHeaderOptions("Content-Type", PatchStrategy.MergePatch);
/** Call option to send the body as a strategic merge patch, which merges lists by key. */
export const strategicPatch = setHeaderOptions("Content-Type", PatchStrategy.StrategicMergePatch);

interface Dispatcher {
  destroy(): Promise<void>;
}
type CreateDispatcher = (...args: unknown[]) => Dispatcher | undefined;

/** Connects with the only context of a kubeconfig; all calls share sockets. */
export function connect(config: KubeConfig): Connection {
  const close = shareDispatcher(config);
  return {
    config,
    core: config.makeApiClient(CoreV1Api),
    custom: config.makeApiClient(CustomObjectsApi),
    certificates: config.makeApiClient(CertificatesV1Api),
    leases: config.makeApiClient(CoordinationV1Api),
    close,
  };
}

/** Connects with the text of a kubeconfig. */
export function connectWith(kubeconfig: string): Connection {
  const config = new KubeConfig();
  config.loadFromString(kubeconfig);
  return connect(config);
}

// client-node 2 creates a dispatcher, and thus a TLS connection, for each call; the method is private, hence Reflect.
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

/** Returns the HTTP status of a failed API call; undefined without a response. */
export function statusOf(error: unknown): number | undefined {
  return error instanceof ApiException ? error.code : undefined;
}

/**
 * Returns one line with the reason of a failed call; API responses are reduced to status and message, which never have
 * object data.
 */
export function reasonOf(error: unknown): string {
  if (error instanceof ApiException) return `HTTP ${error.code} ${messageOf(error.body)}`.trim();
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

function messageOf(body: unknown): string {
  const status: unknown = typeof body === "string" ? parsed(body) : body;
  if (typeof status !== "object" || status === null || !("message" in status)) return "";
  return String(status.message).slice(0, 300);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
