/** An API server in memory behind the client's interface: names, conflicts, merge patches, and a log of all writes. */
import { ApiException } from "@kubernetes/client-node";
import { Buffer } from "node:buffer";
import { accountOf } from "../../activities/config/published_tokens.ts";
import { type Cluster, openCluster } from "../../activities/cluster.ts";
import type { Kube } from "../../activities/kube/client.ts";

/** A stored object, as JSON. */
export type Stored = Record<string, unknown> & { metadata: Metadata };

interface Metadata {
  name: string;
  namespace?: string;
  uid?: string;
  generation?: number;
  resourceVersion?: string;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  annotations?: Record<string, string>;
  labels?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: Record<string, unknown>[];
}

type Given = Record<string, unknown> & { metadata?: Partial<Metadata> };

interface Request {
  name?: string;
  namespace?: string;
  plural?: string;
  body?: Given;
  labelSelector?: string;
  fieldSelector?: string;
  limit?: number;
  _continue?: string;
}

type Verb = "get" | "list" | "create" | "replace" | "patch" | "delete";

/** The attributes of a permission review. */
export interface Reviewed {
  verb: string;
  resource: string;
  namespace?: string;
  name?: string;
}

export class FakeKube {
  /** Every change as "verb plural namespace/name", in order. */
  readonly writes: string[] = [];
  /**
   * Runs before each request, given as "verb plural namespace/name"; may delay the request, or throw an error of the
   * API server.
   */
  onRequest: (request: string) => void | Promise<void> = () => {};
  /** Receives each change as a watch would. */
  onChange: (change: { type: "ADDED" | "MODIFIED" | "DELETED"; plural: string; object: Stored }) => void = () => {};
  /** The answer to a token request. */
  token: { token: string; expirationTimestamp: Date } | undefined;
  /** Returns whether the key that signed a token is not trusted any more. */
  isDistrusted: (token: string) => boolean = () => false;
  /** Whether the version of this API server has mutating admission policies. */
  hasPolicies = true;
  /** Returns whether a permission review reports that the user has the permission. */
  mayDo: (user: string, right: Reviewed) => boolean = () => true;
  /** Returns the metrics of this API server, or of the API server at the given URL; may throw that server's error. */
  metricsOf: (server?: string) => string = () => "";
  /**
   * Returns the time (epoch ms) at which objects are created and deleted. By default each write is one second later,
   * from the start of 1970, and every deletion is at the start of 1970.
   */
  clock: (() => number) | undefined;
  #objects = new Map<string, Stored>();
  #versions = 0;

  /** The cluster that activities get. */
  get client(): Cluster {
    return openCluster(this.clients);
  }

  /** The API clients from which the cluster of the activities is opened. */
  get clients(): Kube {
    const named = this.#named();
    const groups = {
      core: named,
      rbac: named,
      discovery: named,
      apps: named,
      certificates: named,
      policy: named,
      version: named,
    };
    const metrics = { read: async (server?: string) => await Promise.resolve(this.metricsOf(server)) };
    return { ...groups, metrics, authentication: named, custom: this.#custom() } as unknown as Kube;
  }

  /** Stores an object unchanged, without a log entry. */
  put(plural: string, object: Given & { metadata: { name: string } }): Stored {
    const key = keyOf(plural, object.metadata);
    const stored = this.#stamped({ uid: `uid-of-${object.metadata.name}`, generation: 1, ...object.metadata }, object);
    this.#store(key, stored);
    return stored;
  }

  get(plural: string, name: string, namespace?: string): Stored | undefined {
    return this.#objects.get(keyOf(plural, { name, ...(namespace ? { namespace } : {}) }));
  }

  remove(plural: string, name: string, namespace?: string): void {
    this.#forget(keyOf(plural, { name, ...(namespace ? { namespace } : {}) }));
  }

  all(plural: string): Stored[] {
    return [...this.#objects].filter(([key]) => key.startsWith(`${plural} `)).map(([, object]) => object);
  }

  /** Returns everything that is stored. */
  everything(): Stored[] {
    return [...this.#objects.values()];
  }

  /** Returns everything that is stored, as one text to search in. */
  dump(): string {
    return JSON.stringify([...this.#objects.values()]);
  }

  // Typed calls such as readNamespacedSecret have verb and kind in their name.
  #named(): unknown {
    return new Proxy({}, {
      get: (_, method) => {
        const special = this.#special(String(method));
        if (special) return special;
        const [, word, kind] = /^(read|list|create|replace|patch|delete)(?:Namespaced)?(\w+)$/.exec(String(method)) ??
          [];
        if (!word || !kind) {
          throw new TypeError(`Failed to call "${String(method)}": the fake API server does not have that method`);
        }
        const verb = (word === "read" ? "get" : word) as Verb;
        return async (request: Request) =>
          typed(await this.#do(verb, { ...request, plural: `${kind.replace(/Approval$/, "").toLowerCase()}s` }));
      },
    });
  }

  #special(method: string): ((request: Request) => Promise<unknown>) | undefined {
    if (method === "getCode") return () => Promise.resolve({ gitVersion: "v1.36.1" });
    if (method === "listPodForAllNamespaces") return (request) => this.#do("list", { ...request, plural: "pods" });
    if (method === "createNamespacedPodEviction") {
      return async ({ name = "", namespace = "" }) => {
        await this.onRequest(`evict pods ${namespace}/${name}`);
        this.writes.push(`evict pods ${namespace}/${name}`);
        await this.#do("delete", { name, namespace, plural: "pods" });
      };
    }
    if (method === "createNamespacedServiceAccountToken") {
      return async ({ name = "", namespace = "" }) => {
        await this.onRequest(`token serviceaccounts ${namespace}/${name}`);
        return { status: this.token };
      };
    }
    if (method === "createTokenReview") {
      return async ({ body }) => {
        await this.onRequest("review tokens");
        return { status: { authenticated: this.#isTaken((body as { spec: { token: string } }).spec.token) } };
      };
    }
    return undefined;
  }

  // Returns whether a token is valid: as long as its service account exists and its key is trusted.
  #isTaken(token: string): boolean {
    const { account, uid } = accountOf(token) ?? { account: "", uid: "" };
    const [namespace, name = ""] = account.split("/");
    return !this.isDistrusted(token) && this.get("serviceaccounts", name, namespace)?.metadata.uid === uid;
  }

  #custom(): unknown {
    return {
      getAPIResources: () =>
        Promise.resolve({ resources: this.hasPolicies ? [{ name: "mutatingadmissionpolicies" }] : [] }),
      getNamespacedCustomObject: (request: Request) => this.#do("get", request),
      deleteClusterCustomObject: (request: Request) => this.#do("delete", request),
      listNamespacedCustomObject: (request: Request) => this.#do("list", request),
      listClusterCustomObject: (request: Request) => this.#do("list", request),
      createNamespacedCustomObject: (request: Request) => this.#do("create", request),
      getClusterCustomObject: (request: Request) => this.#do("get", request),
      createClusterCustomObject: (request: Request) =>
        request.plural?.endsWith("reviews") ? this.#review(request) : this.#do("create", request),
      replaceClusterCustomObject: (request: Request) => this.#do("replace", request),
      replaceNamespacedCustomObject: (request: Request) => this.#do("replace", request),
      patchNamespacedCustomObject: (request: Request) => this.#do("patch", request),
      patchClusterCustomObject: (request: Request) => this.#do("patch", request),
      patchClusterCustomObjectStatus: (request: Request) => this.#do("patch", request),
      patchNamespacedCustomObjectStatus: (request: Request) => this.#do("patch", request),
      deleteNamespacedCustomObject: (request: Request) => this.#do("delete", request),
    };
  }

  async #review({ plural = "", body }: Request): Promise<unknown> {
    await this.onRequest(`create ${plural}`);
    const { user, resourceAttributes } = body?.["spec"] as { user: string; resourceAttributes: never };
    return { ...body, status: { allowed: this.mayDo(user, resourceAttributes) } };
  }

  // Awaits first, so that every error rejects the promise and none is thrown at once, as with a real client.
  async #do(verb: Verb, request: Request): Promise<unknown> {
    await Promise.resolve();
    const { plural = "", namespace, body } = request;
    const name = request.name ?? body?.metadata?.name ?? "";
    const key = keyOf(plural, { name, ...(namespace ? { namespace } : {}) });
    await this.onRequest(`${verb} ${key}`);
    if (verb === "list") {
      const items = this.all(plural).filter((object) => fits(object, request));
      return structuredClone(page(items, request, this.#versions));
    }
    const existing = this.#objects.get(key);
    if (!existing && verb !== "create") throw answer(404, "NotFound", `${plural} "${name}" not found`);
    if (verb === "get") return structuredClone(existing);
    this.writes.push(`${verb} ${key}`);
    if (verb === "create") return this.#create(key, body as Given, namespace, existing);
    if (verb === "delete") return this.#delete(key, existing as Stored, body);
    if (verb === "replace") return this.#update(key, existing as Stored, body as Given);
    const patched = Array.isArray(body) ? edit(existing, body as Edit[]) : merge(existing, body);
    return this.#update(key, existing as Stored, patched as Given);
  }

  #create(key: string, body: Given, namespace: string | undefined, existing: Stored | undefined): Stored {
    if (existing) throw answer(409, "AlreadyExists", `${key} already exists`);
    this.#checkRole(key, body, namespace);
    const name = body.metadata?.name ?? "";
    const metadata = { uid: `uid-of-${name}`, generation: 1, ...body.metadata, name };
    const stored = this.#stamped({ ...metadata, ...(namespace ? { namespace } : {}) }, body);
    this.#store(key, stored);
    return structuredClone(stored);
  }

  // Refuses to bind a Role that does not exist, as the API server does for a user who can grant only what the Role
  // contains.
  #checkRole(key: string, { roleRef }: Given, namespace: string | undefined): void {
    const { name = "" } = (roleRef ?? {}) as { name?: string };
    if (!key.startsWith("rolebindings ") || this.get("roles", name, namespace)) return;
    throw answer(404, "NotFound", `roles "${name}" not found`);
  }

  #update(key: string, existing: Stored, wanted: Given): Stored {
    const version = wanted.metadata?.resourceVersion;
    if (version !== undefined && version !== existing.metadata.resourceVersion) {
      throw answer(409, "Conflict", `${key} has been modified`);
    }
    if (existing["immutable"] && JSON.stringify(existing["data"]) !== JSON.stringify(wanted["data"])) {
      throw answer(422, "Invalid", `${key} is immutable: ${JSON.stringify(wanted["data"])}`);
    }
    const { name, uid, creationTimestamp, generation: before = 1 } = existing.metadata;
    const generation = JSON.stringify(existing["spec"]) === JSON.stringify(wanted["spec"]) ? before : before + 1;
    const metadata = { ...wanted.metadata, name, uid, creationTimestamp, generation } as Metadata;
    const stored = this.#stamped(metadata, wanted);
    this.#store(key, stored);
    if (stored.metadata.deletionTimestamp && !stored.metadata.finalizers?.length) this.#forget(key);
    return structuredClone(stored);
  }

  #delete(key: string, existing: Stored, options: Given | undefined): Stored {
    const { uid, resourceVersion } = (options?.["preconditions"] ?? {}) as Partial<Metadata>;
    const isOther = (resourceVersion ?? existing.metadata.resourceVersion) !== existing.metadata.resourceVersion;
    if (isOther || (uid ?? existing.metadata.uid) !== existing.metadata.uid) {
      throw answer(409, "Conflict", `${key} is not what was to be deleted`);
    }
    if (!existing.metadata.finalizers?.length) {
      this.#forget(key);
      return existing;
    }
    if (existing.metadata.deletionTimestamp) return existing;
    const deletionTimestamp = new Date(this.clock?.() ?? 0).toISOString();
    const deleted = this.#stamped({ ...existing.metadata, deletionTimestamp }, existing);
    this.#store(key, deleted);
    return deleted;
  }

  #store(key: string, object: Stored): void {
    const type = this.#objects.has(key) ? "MODIFIED" : "ADDED";
    this.#objects.set(key, object);
    this.onChange({ type, plural: key.slice(0, key.indexOf(" ")), object });
  }

  #forget(key: string): void {
    const object = this.#objects.get(key);
    if (!object) return;
    this.#objects.delete(key);
    this.#versions += 1;
    const metadata = { ...object.metadata, resourceVersion: String(this.#versions) };
    const last = { ...object, metadata };
    this.onChange({ type: "DELETED", plural: key.slice(0, key.indexOf(" ")), object: last });
  }

  #stamped(metadata: Metadata, object: Given): Stored {
    this.#versions += 1;
    const created = metadata.creationTimestamp ?? new Date(this.clock?.() ?? this.#versions * 1000).toISOString();
    const stamped = { ...metadata, creationTimestamp: created, resourceVersion: String(this.#versions) };
    return JSON.parse(JSON.stringify({ ...encoded(object), metadata: stamped })) as Stored;
  }
}

/** An error response of the API server. */
export function answer(code: number, reason: string, message = reason): ApiException<string> {
  return new ApiException(code, reason, JSON.stringify({ kind: "Status", code, reason, message }), {});
}

/** The response to an eviction while a budget does not allow it. */
export function overBudget(): ApiException<string> {
  const message = "Cannot evict pod as it would violate the pod's disruption budget";
  return answer(429, "TooManyRequests", `${message}.`);
}

// The API server stores only bytes, so text is stored encoded.
function encoded({ stringData, ...object }: Given): Given {
  if (!isRecord(stringData)) return object;
  const texts = Object.entries(stringData).map(([key, text]) => [key, Buffer.from(String(text)).toString("base64")]);
  return { ...object, data: { ...object["data"] as object | undefined, ...Object.fromEntries(texts) } };
}

function page(items: Stored[], { limit = Infinity, _continue = "0" }: Request, version: number): object {
  const end = Number(_continue) + limit;
  const more = end < items.length ? { continue: String(end) } : {};
  return { items: items.slice(Number(_continue), end), metadata: { resourceVersion: String(version), ...more } };
}

// Renames the field `continue` to `_continue`, as the client does in typed responses.
function typed(answer: unknown): unknown {
  const { metadata } = (answer ?? {}) as { metadata?: { continue?: string } };
  if (metadata?.continue === undefined) return answer;
  const { continue: _continue, ...rest } = metadata;
  return { ...answer as object, metadata: { ...rest, _continue } };
}

function keyOf(plural: string, { name, namespace }: { name: string; namespace?: string }): string {
  return `${plural} ${namespace ? `${namespace}/` : ""}${name}`;
}

interface Edit {
  op: string;
  path: string;
  value?: unknown;
}

/** JSON patch (RFC 6902), with the operations that set a value. */
function edit(target: unknown, edits: Edit[]): unknown {
  const edited = structuredClone(target);
  for (const { op, path, value } of edits) {
    const keys = path.slice(1).split("/");
    const last = keys.pop() ?? "";
    const place = keys.reduce<unknown>(step, edited);
    if (!["add", "replace"].includes(op) || !isRecord(place)) throw answer(422, "Invalid", `Cannot ${op} "${path}"`);
    place[last] = value;
  }
  return edited;
}

/** JSON merge patch (RFC 7386). */
function merge(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const merged: Record<string, unknown> = isRecord(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else merged[key] = merge(merged[key], value);
  }
  return merged;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function fits(object: Stored, { namespace, labelSelector, fieldSelector }: Request): boolean {
  const fields = fieldSelector?.split(",").map((pair) => pair.split("=")) ?? [];
  return (namespace === undefined || object.metadata.namespace === namespace) &&
    hasLabels(object, labelSelector) &&
    fields.every(([path = "", value]) => path.split(".").reduce<unknown>(step, object) === value);
}

// A comma within brackets belongs to a list of values.
function hasLabels({ metadata: { labels = {} } }: Stored, labelSelector = ""): boolean {
  return labelSelector.split(/,(?![^(]*\))/).filter(Boolean).every((asked) => {
    const [, key = "", not, list = ""] = /^(\S+) (not)?in \((.*)\)$/.exec(asked) ?? [];
    if (key) return list.split(",").includes(labels[key] ?? "") === (not === undefined);
    const [label = "", value] = asked.split("=");
    if (label.startsWith("!")) return labels[label.slice(1)] === undefined;
    return value === undefined ? labels[label] !== undefined : labels[label] === value;
  });
}

function step(at: unknown, key: string): unknown {
  if (Array.isArray(at)) return at[Number(key)];
  return isRecord(at) ? at[key] : undefined;
}
