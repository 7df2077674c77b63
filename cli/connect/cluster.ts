/** What commands ask of Kubernetes; answers that mean trouble become failures with an exit code. */
import { type Cluster, openCluster } from "../../activities/cluster.ts";
import type { CoreV1Event, KubeConfig } from "@kubernetes/client-node";
import { connectKube, homeOf, type Kube, listThere } from "../../activities/kube/client.ts";
import { AuthenticationV1Api } from "../../activities/kube/client_node.ts";
import type { Resource } from "../../activities/kube/resources.ts";
import { statusOf } from "../../activities/kube/status.ts";
import { Refusal, Unreachable } from "../failure.ts";

/** One API server as commands see it. */
export interface NamedCluster {
  kube: Cluster;
  /** Its name in Temporal; missing without one. */
  name?: string;
  /** Its address, for messages. */
  server: string;
  /** Of the context, where none is named. */
  namespace: string;
  /** As whom the API server knows us; undefined where it does not say. */
  whoAmI(): Promise<string | undefined>;
}

/** Which objects of a kind; without a namespace those of all. */
export interface Where {
  namespace?: string;
  labelSelector?: string;
}

/** The cluster of profiles and configs, where it is another one, and their namespace. */
export interface ManagementConfig {
  config: KubeConfig;
  namespace: string;
}

/** Clients for the current context. */
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
    whoAmI: async () => {
      const review = await config.makeApiClient(AuthenticationV1Api).createSelfSubjectReview({ body: {} })
        .catch(() => undefined); // not every API server tells, and the command is worth more than the name
      return review?.status?.userInfo?.username;
    },
  };
}

/** Objects in one answer of the API server. */
const pageSize = 500;

/** All objects of a kind as the API server has them, page by page; of a kind that is not installed there are none. */
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

/** Gives undefined for what this person may not read; other troubles stay what they are. */
export async function ifAllowed<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (statusOf(error) === 403) return undefined;
    throw error;
  }
}

/** The objects of all namespaces; of one alone, and so not the whole, for people who may not read the others. */
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
  /** The client renames the field in answers that it has a type for. */
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

/** An Event for people. */
export interface ClusterEvent {
  /** Epoch ms of the last time. */
  at: number;
  id: string;
  type: string;
  reason: string;
  message: string;
  count: number;
}

/** The Events about one object, oldest first. */
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

const otherCluster = "where profiles are in a management cluster, give --management-kubeconfig or --management-context";

/** What a failed request to the API server means for the person who asked; other errors as they are. */
export function clusterFailure(server: string, error: unknown): unknown {
  const status = statusOf(error);
  if (status !== undefined) {
    const text = `Cannot ask Kubernetes at ${server}: HTTP ${status}, ${saidBy(error)}`;
    return status === 429 || status >= 500 ? new Unreachable(text) : new Refusal(text);
  }
  const { name, type, message } = error as { name?: string; type?: string; message?: string };
  // Steps of the rollout's own activities sort their failures themselves.
  if (name === "ApplicationFailure") {
    const hint = type === "ProfileMissing" ? `; ${otherCluster}` : "";
    return type === "ApiUnavailable" ? new Unreachable(`${message}`) : new Refusal(`${message}${hint}`);
  }
  const reason = networkReason(error);
  return reason === undefined ? error : new Unreachable(`Cannot reach Kubernetes at ${server}: ${reason}`);
}

/** For what goes on looking: an API server that restarts is an everyday thing, and only what it refuses is thrown. */
export function passingFailure(server: string, error: unknown): Unreachable {
  const failure = clusterFailure(server, error);
  if (failure instanceof Unreachable) return failure;
  throw failure;
}

// The body of an answer is quoted no further than the API server's own message: it may echo what was sent.
function saidBy(error: unknown): string {
  try {
    const { message, reason } = JSON.parse((error as { body: string }).body) as { message?: string; reason?: string };
    return message ?? reason ?? "no reason given";
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
