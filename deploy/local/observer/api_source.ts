import { KubeConfig } from "@kubernetes/client-node";
import { HttpsWatch } from "../../../activities/kube/https_watch.ts";
import { ApiConnection } from "../stack/api_connection.ts";
import type { ApiObject } from "./pool_facts.ts";

/** All objects of a collection at one resource version. */
export interface Listing {
  version: string;
  objects: ApiObject[];
}

/** One change of an object, or a bookmark, which reports a newer resource version without a change. */
export interface SourceEvent {
  type: string;
  object: ApiObject;
}

/** The API that an observer reads. */
export interface Source {
  list(path: string): Promise<Listing>;
  /**
   * Passes every change after `version` to `tell`. Returns "expired" if the API server no longer has that version,
   * otherwise "ended".
   */
  watch(from: { path: string; version: string; signal: AbortSignal }, tell: (event: SourceEvent) => void): Promise<
    WatchEnd
  >;
  close(): void;
}

/** Why a watch ended. */
export type WatchEnd = "ended" | "expired";

const gone = 410;

/** Connects to the API server of a kubeconfig file. */
export async function openSource(kubeconfigPath: string): Promise<Source> {
  const config = new KubeConfig();
  config.loadFromFile(kubeconfigPath);
  const api = await ApiConnection.open(kubeconfigPath);
  return {
    list: (path) => list(api, path),
    watch: (from, tell) => watch(config, from, tell),
    close: () => api[Symbol.dispose](),
  };
}

async function list(api: ApiConnection, path: string): Promise<Listing> {
  const answer = await api.call({ method: "GET", path }) as {
    metadata?: { resourceVersion?: string };
    items?: ApiObject[];
  };
  return { version: answer.metadata?.resourceVersion ?? "", objects: answer.items ?? [] };
}

function watch(
  config: KubeConfig,
  { path, version, signal }: { path: string; version: string; signal: AbortSignal },
  tell: (event: SourceEvent) => void,
): Promise<WatchEnd> {
  const { promise, resolve } = Promise.withResolvers<WatchEnd>();
  let isExpired = false;
  const handle = (type: string, object: unknown): void => {
    if (type === "ERROR") isExpired ||= (object as { code?: number }).code === gone;
    else tell({ type, object: object as ApiObject });
  };
  const done = (error: unknown): void => resolve(isExpired || statusOf(error) === gone ? "expired" : "ended");
  void new HttpsWatch(config).watch(path, { resourceVersion: version }, handle, done).then((controller) => {
    if (signal.aborted) controller.abort();
    signal.addEventListener("abort", () => controller.abort(), { once: true });
  });
  return promise;
}

function statusOf(error: unknown): number | undefined {
  return (error as { statusCode?: number } | null)?.statusCode;
}
