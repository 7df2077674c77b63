/** The connection to a Kubernetes API server, shared by all activities of a process. */
import type { Configuration, HttpLibrary, RequestContext, Watch } from "@kubernetes/client-node";
import {
  AppsV1Api,
  AuthenticationV1Api,
  CertificatesV1Api,
  CoreV1Api,
  createConfiguration,
  CustomObjectsApi,
  DiscoveryV1Api,
  KubeConfig,
  PatchStrategy,
  PolicyV1Api,
  RbacAuthorizationV1Api,
  ServerConfiguration,
  setHeaderMiddleware,
  setHeaderOptions,
  VersionApi,
  wrapHttpLibrary,
} from "./client_node.ts";
import { ApiMetrics } from "./api_metrics.ts";
import { Buffer } from "node:buffer";
import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { type FileTold, FollowedConfig } from "./followed_config.ts";
import { PacedHttp, type Rate, RequestRate, type RequestsTold } from "./paced_http.ts";
import { refused } from "../failures.ts";

type CreateDispatcher = (...input: unknown[]) => unknown;

/** User agent of requests in the API server's logs. */
const userAgent = "ostler";

/**
 * Returns the same config, changed in two respects: its clients reuse connections, while by default every call opens a
 * new TLS connection, and they share one request rate.
 */
export function pooled(config: KubeConfig, rate?: Rate, told?: RequestsTold): KubeConfig {
  const http = wrapHttpLibrary(new PacedHttp(new RequestRate(rate), { told, renew: renewing(config) }));
  config.makeApiClient = (type) => new type(configurationOf(config, http));
  const open = config as unknown as Record<"createDispatcher" | "createDispatcherOptions", CreateDispatcher>;
  const create = open.createDispatcher.bind(config);
  let pool: { options: unknown; dispatcher: unknown } | undefined;
  open.createDispatcher = (...input) => {
    // The options contain the CA and the client certificate; if a rotation changed them, new connections are opened.
    const options = open.createDispatcherOptions(...input);
    if (!isDeepStrictEqual(pool?.options, options)) pool = { options, dispatcher: http1Only(create(...input)) };
    return pool?.dispatcher;
  };
  return config;
}

/**
 * Returns a function that reads the files of the config's credentials again, and puts these into a refused request; the
 * function returns false if they are unchanged.
 */
function renewing(config: KubeConfig): (request: RequestContext) => Promise<boolean> {
  return async (request) => {
    if (config instanceof FollowedConfig) config.revision({ atOnce: true });
    forgetTokens(config);
    const before = [request.getHeaders()["Authorization"], request.getDispatcher()];
    await config.applySecurityAuthentication(request);
    return [request.getHeaders()["Authorization"], request.getDispatcher()].some((now, at) => now !== before[at]);
  };
}

/**
 * Lets a config read its token files again at their next use. By itself the client does so once a minute has passed by
 * the clock: if the clock was set back by hours, only after these hours, when the token has long expired.
 */
function forgetTokens(config: KubeConfig): void {
  const { authenticators } = config as unknown as { authenticators: { lastRead?: Date | null }[] };
  for (const each of authenticators) if ("lastRead" in each) each.lastRead = null;
}

function configurationOf(config: KubeConfig, httpApi: HttpLibrary): Configuration {
  const cluster = config.getCurrentCluster();
  if (!cluster) throw new Error("Failed to connect to an API server: the kubeconfig does not name a current cluster");
  return createConfiguration({
    ...{ httpApi, baseServer: new ServerConfiguration(cluster.server, {}), authMethods: { default: config } },
    middleware: [setHeaderMiddleware("User-Agent", userAgent)],
  });
}

interface Composable {
  compose(wrap: (dispatch: Dispatch) => Dispatch): unknown;
}

type Dispatch = (options: object, handler: unknown) => unknown;

/**
 * Milliseconds without data after which a request fails; longer than the 30 seconds that the API server may wait for a
 * webhook.
 */
const silentMs = 40_000;

/**
 * Returns a dispatcher of the Kubernetes client that does not use HTTP/2, and waits at most `silentMs` for data.
 * With HTTP/2 of Deno 2.9, the process dies when the server closes the connection
 * (github.com/denoland/deno/issues/36788), and a restart of the API server is an everyday event.
 */
export function http1Only(dispatcher: unknown): unknown {
  const limits = { allowH2: false, headersTimeout: silentMs, bodyTimeout: silentMs };
  const wrap = (dispatch: Dispatch): Dispatch => (options, handler) => dispatch({ ...options, ...limits }, handler);
  return (dispatcher as Composable | undefined)?.compose(wrap);
}

/** The clients of one cluster, one for each API group that Ostler uses. */
export interface Kube {
  core: CoreV1Api;
  custom: CustomObjectsApi;
  discovery: DiscoveryV1Api;
  rbac: RbacAuthorizationV1Api;
  apps: AppsV1Api;
  authentication: AuthenticationV1Api;
  certificates: CertificatesV1Api;
  policy: PolicyV1Api;
  version: VersionApi;
  metrics: ApiMetrics;
  /** Streams changes; only long-lived processes that read often have one. */
  watch?: Watch;
  /**
   * The management cluster, which has the profiles and configs, and this installation's namespace there. Absent if the
   * profiles and configs are in the cluster of the pools.
   */
  management?: { kube: Kube; namespace: string };
}

/** Callbacks of a kubeconfig. */
export interface ConfigTold {
  /** Called with the outcome of each request. */
  requests?: RequestsTold | undefined;
  /** Called when the kubeconfig file changes or cannot be read. */
  file?: FileTold;
}

/**
 * Loads the kubeconfig file at `path` and follows its changes; without `path`, loads the default locations (in-cluster
 * included).
 */
export function loadKubeConfig(path: string | undefined, rate?: Rate, told: ConfigTold = {}): KubeConfig {
  if (path) return pooled(new FollowedConfig(path, told.file), rate, told.requests);
  const config = new KubeConfig();
  config.loadFromDefault();
  return pooled(config, rate, told.requests);
}

/** Returns the PEM of the CA by which a config trusts its API server; "" if it names none. */
export function caOf(config: KubeConfig): string {
  const { caData, caFile } = config.getCurrentCluster() ?? {};
  if (caData) return Buffer.from(caData, "base64").toString();
  return caFile ? readFileSync(caFile, "utf8") : "";
}

/** Creates the clients for one API server. */
export function connectKube(config: KubeConfig): Kube {
  return {
    core: config.makeApiClient(CoreV1Api),
    custom: config.makeApiClient(CustomObjectsApi),
    discovery: config.makeApiClient(DiscoveryV1Api),
    rbac: config.makeApiClient(RbacAuthorizationV1Api),
    apps: config.makeApiClient(AppsV1Api),
    authentication: config.makeApiClient(AuthenticationV1Api),
    certificates: config.makeApiClient(CertificatesV1Api),
    policy: config.makeApiClient(PolicyV1Api),
    version: config.makeApiClient(VersionApi),
    metrics: config.makeApiClient(ApiMetrics),
  };
}

/** Options that make a patch call a JSON merge patch: small, and fields that it does not contain are unchanged. */
export const asMergePatch = setHeaderOptions("Content-Type", PatchStrategy.MergePatch);

/** Options that make a patch call a JSON patch, which can replace values as a whole. */
export const asJsonPatch = setHeaderOptions("Content-Type", PatchStrategy.JsonPatch);

// Selects the cluster of a kind: profiles and configs may be in the management cluster, separate from the cluster of
// the pools.

/** A kind of objects; its group decides whether its objects are in the management cluster. */
interface Kind {
  group: string;
  version: string;
  plural: string;
}

/** The API group of which Operating System Manager keeps all objects in the management cluster. */
const managedGroup = "operatingsystemmanager.k8c.io";

/** Returns the namespace, in the cluster of the pools, of objects that belong to no pool, such as the shared budget. */
export function sharedNamespace({ management }: Pick<Kube, "management">, profileNamespace: string): string {
  // With a management cluster, the namespace of the profiles exists only there.
  return management ? "kube-system" : profileNamespace;
}

/** Returns the one namespace of the management cluster for a kind; undefined for kinds in the cluster of the pools. */
export function namespaceOf({ management }: Pick<Kube, "management">, { group }: Kind): string | undefined {
  return group === managedGroup ? management?.namespace : undefined;
}

/**
 * Returns the clients of the cluster that has the objects of a kind. Refuses all but one namespace of the management
 * cluster, because other namespaces may belong to other clusters. Otherwise a user who may write MachineDeployments in
 * this cluster could read objects of other clusters.
 */
export function homeOf(kube: Kube, kind: Kind, namespace?: string): Kube {
  const { management } = kube;
  if (!management || kind.group !== managedGroup) return kube;
  if (namespace === undefined || namespace === management.namespace) return management.kube;
  const state = `the management cluster has the objects of this cluster in namespace "${management.namespace}" only`;
  throw refused("ObjectInvalid", `Failed to read ${kind.plural} in namespace "${namespace}": ${state}`);
}

/** Reads one page of all objects of a kind; of a kind in the management cluster, only this installation's objects. */
export async function listThere(kube: Kube, kind: Kind, page: object): Promise<unknown> {
  const { group, version, plural } = kind;
  const { custom } = homeOf(kube, kind);
  const namespace = namespaceOf(kube, kind);
  const request = { group, version, plural, ...page };
  if (namespace === undefined) return await custom.listClusterCustomObject(request);
  return await custom.listNamespacedCustomObject({ ...request, namespace });
}
