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

/** One identity's way into one API server; close it to free its sockets. */
export interface Connection {
  readonly config: KubeConfig;
  readonly core: CoreV1Api;
  readonly custom: CustomObjectsApi;
  readonly certificates: CertificatesV1Api;
  readonly leases: CoordinationV1Api;
  close(): Promise<void>;
}

/** Call option that sends a body as a merge patch. */
export const mergePatch = setHeaderOptions("Content-Type", PatchStrategy.MergePatch);
/** Call option that sends a body as a strategic merge patch: lists with keys are merged by key. */
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

/** Connects with a kubeconfig's text. */
export function connectWith(kubeconfig: string): Connection {
  const config = new KubeConfig();
  config.loadFromString(kubeconfig);
  return connect(config);
}

// client-node 2 makes a new dispatcher, and so a new TLS connection, for each call; the method is private, hence Reflect.
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

/** Gives the HTTP status of a failed API call, if it got so far. */
export function statusOf(error: unknown): number | undefined {
  return error instanceof ApiException ? error.code : undefined;
}

/** Says why a call failed in one line; API answers are cut down to status and message, which never hold an object's data. */
export function reasonOf(error: unknown): string {
  if (error instanceof ApiException) return `HTTP ${error.code} ${messageOf(error.body)}`.trim();
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? `: ${reasonOf(error.cause)}` : "";
  return `${error.message}${cause}`;
}

/** Awaits a call for which "not found" and "already there" are as good as done. */
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
