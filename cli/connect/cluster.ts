/** Reads Kubernetes for the commands, and converts failed requests into failures with an exit code. */
import { type Cluster, openCluster } from "../../activities/cluster.ts";
import type { CoreV1Event, KubeConfig } from "@kubernetes/client-node";
import { caOf, connectKube, homeOf, type Kube, listThere } from "../../activities/kube/client.ts";
import { AuthenticationV1Api } from "../../activities/kube/client_node.ts";
import type { Resource } from "../../activities/kube/resources.ts";
import { proxiedText, statusOf } from "../../activities/kube/status.ts";
import { Refusal, Unreachable } from "../failure.ts";
import { printable } from "../view/printable.ts";

/** An API server with the facts that commands need. */
export interface NamedCluster {
  kube: Cluster;
  /** The name of the cluster in Temporal, if it has one. */
  name?: string;
  /** The address of the API server, for messages. */
  server: string;
  /** The namespace of the kubeconfig's context, which is the default of `-n`. */
  namespace: string;
  /** Returns the PEM of the CA by which the kubeconfig trusts the API server; "" without one. */
  clusterCa?: () => string;
  /** Returns the user name that the API server knows; undefined if it does not report one. */
  whoAmI(): Promise<string | undefined>;
}

/** Selects objects of a kind; without a namespace, those of all namespaces. */
export interface Where {
  namespace?: string;
  labelSelector?: string;
}

/** The management cluster with OperatingSystemProfiles and OperatingSystemConfigs, and their namespace. */
interface ManagementConfig {
  config: KubeConfig;
  namespace: string;
}

/**
 * Returns the cluster of the kubeconfig's current context; with `management`, profiles and configs are read from the
 * management cluster.
 */
export function clusterOf(config: KubeConfig, name = "", management?: ManagementConfig): NamedCluster {
  const context = config.getContextObject(config.getCurrentContext());
  const { namespace = "" } = management ?? {};
  return {
    kube: openCluster({
      ...connectKube(config),
      ...(management ? { management: { kube: connectKube(management.config), namespace } } : {}),
    }),
    ...(name === "" ? {} : { name }),
    server: config.getCurrentCluster()?.server ?? "",
    namespace: context?.namespace || "default",
    clusterCa: () => caOf(config),
    whoAmI: async () => {
      const review = await config.makeApiClient(AuthenticationV1Api).createSelfSubjectReview({ body: {} })
        .catch(() => undefined); // not every API server reports the user, and the name is optional
      return review?.status?.userInfo?.username;
    },
  };
}

/** Objects per page of the API server. */
const pageSize = 500;

/**
 * Returns all objects of a kind, unparsed, after reading all pages; throws the API's 404 if the kind is not installed.
 */
export async function listAll(kube: Kube, resource: Resource<unknown>, where: Where = {}): Promise<unknown[]> {
  const { group, version, plural } = resource;
  const { namespace, labelSelector } = where;
  const labelled = labelSelector === undefined ? {} : { labelSelector };
  return await allPages<unknown>(async (page) => {
    const asked = { ...labelled, ...page };
    if (namespace === undefined) return await listThere(kube, resource, asked) as Page<unknown>;
    const { custom } = homeOf(kube, resource, namespace);
    return await custom.listNamespacedCustomObject({ group, version, plural, ...asked, namespace });
  });
}

/** Returns the result of a read; undefined if the user is not allowed to read. Throws all other failures. */
export async function ifAllowed<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (statusOf(error) === 403) return undefined;
    throw error;
  }
}

/**
 * Returns the objects of all namespaces. If the user is not allowed to list these, returns only the objects of
 * `namespace`, with `isWhole: false`.
 */
export async function listReadable(
  kube: Kube,
  resource: Resource<unknown>,
  namespace: string,
): Promise<{ items: unknown[]; isWhole: boolean }> {
  const items = await ifAllowed(listAll(kube, resource));
  return { items: items ?? await listAll(kube, resource, { namespace }), isWhole: items !== undefined };
}

interface PageRequest {
  limit: number;
  _continue?: string;
}

interface Page<T> {
  items?: T[];
  /** The token of the next page: `_continue` in the client's typed APIs, `continue` in its API for custom objects. */
  metadata?: { continue?: string; _continue?: string };
}

async function allPages<T>(ask: (page: PageRequest) => Promise<Page<T>>): Promise<T[]> {
  const found: T[] = [];
  let after: string | undefined;
  do {
    const { items = [], metadata } = await ask({ limit: pageSize, ...(after ? { _continue: after } : {}) });
    found.push(...items);
    after = metadata?.continue || metadata?._continue;
  } while (after);
  return found;
}

/** An Event, reduced to the fields that commands show. */
export interface ClusterEvent {
  /** Epoch ms of the last occurrence. */
  at: number;
  id: string;
  type: string;
  reason: string;
  message: string;
  count: number;
}

/** Returns the Events about one object, oldest first. */
export async function eventsAbout(
  kube: Kube,
  { kind, namespace, name }: { kind: string; namespace: string; name: string },
): Promise<ClusterEvent[]> {
  const fieldSelector = `involvedObject.kind=${kind},involvedObject.name=${name}`;
  const found = await allPages((page) => kube.core.listNamespacedEvent({ namespace, fieldSelector, ...page }));
  return found.map(readEvent).sort((a, b) => a.at - b.at);
}

function readEvent({ metadata, lastTimestamp, eventTime, type, reason, message, count }: CoreV1Event): ClusterEvent {
  return {
    at: new Date(lastTimestamp ?? eventTime ?? metadata.creationTimestamp ?? 0).getTime(),
    id: `${metadata.name}/${count ?? 1}`,
    type: type ?? "Normal",
    reason: reason ?? "Event",
    message: message ?? "",
    count: count ?? 1,
  };
}

const otherCluster = "if profiles are in a management cluster, give --management-kubeconfig or --management-context";

/** Returns the failure of a command for a failed request to the API server; returns other errors unchanged. */
export function clusterFailure(server: string, error: unknown): unknown {
  const status = statusOf(error);
  if (status !== undefined) {
    const text = `Failed to query Kubernetes at ${server}: ${proxiedText(error) ?? `HTTP ${status}, ${saidBy(error)}`}`;
    return status === 429 || status >= 500 ? new Unreachable(text) : new Refusal(text);
  }
  const { name, type, message } = error as { name?: string; type?: string; message?: string };
  // Activities throw an ApplicationFailure, whose type is the kind of failure.
  if (name === "ApplicationFailure") {
    const hint = type === "ProfileMissing" ? `; ${otherCluster}` : "";
    return type === "ApiUnavailable" ? new Unreachable(`${message}`) : new Refusal(`${message}${hint}`);
  }
  const reason = networkReason(error);
  return reason === undefined ? error : new Unreachable(`Failed to reach Kubernetes at ${server}: ${reason}`);
}

/**
 * Returns the failure of a read if a later read may succeed, such as after a restart of the API server; throws every
 * other failure.
 */
export function passingFailure(server: string, error: unknown): Unreachable {
  const failure = clusterFailure(server, error);
  if (failure instanceof Unreachable) return failure;
  throw failure;
}

// Only the API server's own message is quoted: the rest of the body may echo the request.
function saidBy(error: unknown): string {
  try {
    const { message, reason } = JSON.parse((error as { body: string }).body) as { message?: string; reason?: string };
    return printable(message ?? reason ?? "no reason given", Infinity);
  } catch {
    return "no reason given";
  }
}

function networkReason(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const cause = error.cause instanceof Error ? error.cause : error;
  const isNetwork = error.message === "fetch failed" || error.name === "TimeoutError" ||
    typeof (cause as NodeJS.ErrnoException).code === "string";
  return isNetwork ? cause.message || (cause as NodeJS.ErrnoException).code || cause.name : undefined;
}
