/** Reads and writes the custom resources that Ostler uses, and validates them as they are read. */
import type { V1DeleteOptions } from "@kubernetes/client-node";
import { z } from "zod";
import { inWords } from "../../profiles/fault_words.ts";
import { refused } from "../failures.ts";
import { asJsonPatch, asMergePatch, homeOf, type Kube, listThere } from "./client.ts";
import { Selector, statusOf } from "./status.ts";

// The parts of machine-controller's objects that Ostler reads; lenient about all other fields.

const annotations = z.record(z.string(), z.string()).optional();

// The API server accepts a `date-time` whose zone does not exist; an exception about it would escape `safeParse`.
/** A time, as RFC 3339; refuses a time that JavaScript cannot read. */
export const time = z.union([z.string(), z.date()]).transform((value) => new Date(value))
  .refine((date) => Number.isFinite(date.getTime()), "must be a time").transform((date) => date.toISOString());

const owner = z.object({ kind: z.string(), name: z.string(), uid: z.string() }).loose();

export const Metadata = z.object({
  name: z.string(),
  namespace: z.string(),
  uid: z.string(),
  resourceVersion: z.string().optional(),
  generation: z.number().optional(),
  creationTimestamp: time,
  deletionTimestamp: time.optional(),
  annotations,
  labels: z.record(z.string(), z.string()).optional(),
  finalizers: z.array(z.string()).optional(),
  ownerReferences: z.array(owner).optional(),
});
export type Metadata = z.infer<typeof Metadata>;

/** The provider config is validated only when rendering: an invalid one must not make the object unreadable. */
const MachineSpec = z.object({
  versions: z.object({ kubelet: z.string().optional() }).loose().optional(),
  taints: z.array(z.object({ key: z.string(), value: z.string().optional(), effect: z.string() })).nullish()
    .transform((taints) => taints ?? undefined).optional(),
  providerSpec: z.object({ value: z.unknown().optional() }).loose().optional(),
}).loose();
export type MachineSpec = z.infer<typeof MachineSpec>;

const Amount = z.union([z.number(), z.string()]);
const int = z.number().nullish();

export const MachineDeployment = z.object({
  metadata: Metadata,
  spec: z.object({
    replicas: z.number().int().optional(),
    selector: Selector.loose().optional(),
    strategy: z.object({
      rollingUpdate: z.object({ maxSurge: Amount.nullish(), maxUnavailable: Amount.nullish() }).loose().nullish(),
    }).loose().nullish(),
    template: z.object({ spec: MachineSpec.optional() }).loose().optional(),
  }).loose(),
  status: z.object({ observedGeneration: z.number().optional() }).loose().optional(),
});
export type MachineDeployment = z.infer<typeof MachineDeployment>;

export const MachineSet = z.object({
  metadata: Metadata,
  spec: z.object({ replicas: int, minReadySeconds: int, template: z.looseObject({}).optional() }).loose().optional(),
  status: z.object({ replicas: int, readyReplicas: int, availableReplicas: int }).loose().optional(),
});
export type MachineSet = z.infer<typeof MachineSet>;

export const Machine = z.object({
  metadata: Metadata,
  spec: MachineSpec,
  status: z.object({
    nodeRef: z.object({ name: z.string() }).loose().nullish(),
    addresses: z.array(z.object({ address: z.string() }).loose()).nullish(),
    conditions: z.array(z.object({ type: z.string(), status: z.string() }).loose()).nullish(),
    errorReason: z.string().nullish(),
    errorMessage: z.string().nullish(),
  }).loose().optional(),
});
export type Machine = z.infer<typeof Machine>;

export const OsProfileObject = z.object({ metadata: Metadata, spec: z.unknown() });
export type OsProfileObject = z.infer<typeof OsProfileObject>;

/** The spec is parsed later, so that an invalid policy does not affect pools that it does not select. */
export const RolloutPolicyObject = z.object({ metadata: Metadata, spec: z.unknown() });
export type RolloutPolicyObject = z.infer<typeof RolloutPolicyObject>;

export const RolloutObject = z.object({
  metadata: Metadata,
  status: z.object({
    observed: z.string().optional(),
    phase: z.string().optional(),
    conditions: z.array(
      // An unreadable time counts as missing, because it must not hide the Rollout from its run, which writes it again.
      z.object({ type: z.string(), status: z.string(), lastTransitionTime: time.optional().catch(undefined) }).loose(),
    ).optional(),
    history: z.array(z.record(z.string(), z.unknown())).optional(),
    credentials: z.object({ renewAt: z.string().optional() }).loose().optional(),
  }).loose().optional(),
});
export type RolloutObject = z.infer<typeof RolloutObject>;

/** A kind of custom resource: its API path and its schema. */
export interface Resource<T> {
  group: string;
  version: string;
  plural: string;
  schema: z.ZodType<T>;
  /** Set if only some of the objects are watched. */
  fieldSelector?: string;
  /** Set if only the objects of one namespace are watched, which only kinds of the core group support. */
  namespace?: string;
}

/** A kind whose watch indexes objects by groups. */
export interface GroupedResource<T> extends Resource<T> {
  /** Returns the object's groups, each by the name of its grouping; "" if the object has no group in a grouping. */
  groupsOf(facts: T): Record<string, string>;
}

const cluster = { group: "cluster.k8s.io", version: "v1alpha1" } as const;
const osm = { group: "operatingsystemmanager.k8c.io", version: "v1alpha1" } as const;

export const machineDeployments: Resource<MachineDeployment> = {
  ...cluster,
  plural: "machinedeployments",
  schema: MachineDeployment,
};
export const machineSets: Resource<MachineSet> = { ...cluster, plural: "machinesets", schema: MachineSet };
export const machines: Resource<Machine> = { ...cluster, plural: "machines", schema: Machine };
export const profiles: Resource<OsProfileObject> = {
  ...osm,
  plural: "operatingsystemprofiles",
  schema: OsProfileObject,
};
export const configs: Resource<OsProfileObject> = { ...osm, plural: "operatingsystemconfigs", schema: OsProfileObject };
export const rollouts: Resource<RolloutObject> = {
  group: "ostler.dev",
  version: "v1alpha1",
  plural: "rollouts",
  schema: RolloutObject,
};
export const rolloutPolicies: Resource<RolloutPolicyObject> = {
  group: "ostler.dev",
  version: "v1alpha1",
  plural: "rolloutpolicies",
  schema: RolloutPolicyObject,
};

export interface ObjectName {
  namespace: string;
  name: string;
}

/** Reads one object; throws the API's 404 if it does not exist. */
export async function readObject<T>(kube: Kube, resource: Resource<T>, name: ObjectName): Promise<T> {
  return parsed(
    resource,
    await thereIn(kube, resource, name).getNamespacedCustomObject({ ...place(resource), ...name }),
  );
}

/** Reads the objects of one namespace that match `labelSelector`, or all without one, page by page. */
export async function listObjects<T>(
  kube: Kube,
  resource: Resource<T>,
  where: { namespace: string; labelSelector?: string },
): Promise<T[]> {
  return await allPages(async (page) => {
    const request = { ...place(resource), ...where, ...page };
    const answer: unknown = await thereIn(kube, resource, where).listNamespacedCustomObject(request);
    const { items = [], metadata = {} } = answer as ListPage<unknown>;
    return { metadata, items: items.map((item) => parsed(resource, item)) };
  });
}

/** Some objects of a kind, and where the next page starts. */
export interface Page<T> {
  items: T[];
  /** Token of the next page; absent on the last page. */
  next?: string;
}

/**
 * Reads one page of the objects of all namespaces; leaves out invalid objects, because one must not hide the others.
 */
export async function listPage<T>(
  kube: Kube,
  resource: Resource<T>,
  { limit, after }: { limit: number; after: string | undefined },
): Promise<Page<T>> {
  const from = after === undefined ? {} : { _continue: after };
  const answer: unknown = await listThere(kube, resource, { limit, ...from });
  const { items = [], metadata } = answer as { items?: unknown[]; metadata?: { continue?: string } };
  const read = items.map((item) => resource.schema.safeParse(item));
  const next = metadata?.continue;
  return { items: read.flatMap(({ data }) => data === undefined ? [] : [data]), ...(next ? { next } : {}) };
}

/** Creates an object, and returns the result; throws the API's 409 if the object exists. */
export async function createObject<T>(kube: Kube, resource: Resource<T>, body: ObjectBody): Promise<T> {
  const { namespace } = body.metadata;
  const request = { ...place(resource), namespace, body };
  return parsed(resource, await thereIn(kube, resource, body.metadata).createNamespacedCustomObject(request));
}

export interface ObjectBody {
  apiVersion: string;
  kind: string;
  metadata: ObjectName & Record<string, unknown>;
  [field: string]: unknown;
}

/** Merges `body` into an object; the API server records the changed fields under the name `fieldManager`. */
export async function patchObject(
  kube: Kube,
  resource: Resource<unknown>,
  { body, ...where }: ObjectName & { body: object; fieldManager?: string },
): Promise<void> {
  const request = { ...place(resource), ...where, body };
  await thereIn(kube, resource, where).patchNamespacedCustomObject(request, asMergePatch);
}

/** Applies a JSON patch (RFC 6902) to an object. */
export async function editObject(
  kube: Kube,
  resource: Resource<unknown>,
  { edits, ...where }: ObjectName & { edits: { op: string; path: string; value: unknown }[]; fieldManager: string },
): Promise<void> {
  const request = { ...place(resource), ...where, body: edits };
  await thereIn(kube, resource, where).patchNamespacedCustomObject(request, asJsonPatch);
}

/** Replaces an object, and returns the result; throws the API's 409 if the resource version in `body` is outdated. */
export async function replaceObject<T>(kube: Kube, resource: Resource<T>, body: ObjectBody): Promise<T> {
  const { namespace, name } = body.metadata;
  const request = { ...place(resource), namespace, name, body };
  return parsed(resource, await thereIn(kube, resource, body.metadata).replaceNamespacedCustomObject(request));
}

/** Merges `status` into an object's status, and returns the result; throws a 409 if `resourceVersion` is outdated. */
export async function patchStatus<T>(
  kube: Kube,
  resource: Resource<T>,
  { status, resourceVersion, ...name }: ObjectName & { status: object; resourceVersion?: string | undefined },
): Promise<T> {
  const body = { ...(resourceVersion === undefined ? {} : { metadata: { resourceVersion } }), status };
  const request = { ...place(resource), ...name, body };
  const there = thereIn(kube, resource, name);
  return parsed(resource, await there.patchNamespacedCustomObjectStatus(request, asMergePatch));
}

/** Deletes an object; throws the API's 404 if it does not exist, and a 409 if it fails the preconditions in `body`. */
export async function deleteObject(
  kube: Kube,
  resource: Resource<unknown>,
  where: ObjectName & { body?: V1DeleteOptions },
): Promise<void> {
  await thereIn(kube, resource, where).deleteNamespacedCustomObject({ ...place(resource), ...where });
}

function thereIn(kube: Kube, resource: Resource<unknown>, { namespace }: { namespace: string }): Kube["custom"] {
  return homeOf(kube, resource, namespace).custom;
}

// Validates the object, because the API server accepts any content if the CRD in the cluster has no schema.
function parsed<T>({ plural, schema }: Resource<T>, object: unknown): T {
  const result = schema.safeParse(object, { error: inWords });
  if (result.success) return result.data;
  const { namespace, name } = (object as Partial<ObjectBody>).metadata ?? {};
  const faults = result.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
  throw refused("ObjectInvalid", `Failed to read ${plural} "${namespace}/${name}": ${faults.slice(0, 3).join("; ")}`);
}

function place(resource: Resource<unknown>): { group: string; version: string; plural: string } {
  const { group, version, plural } = resource;
  return { group, version, plural };
}

// Lists of any length, a page at a time: never more than one page is held in full.

/** Maximum number of objects in one page. */
const pageSize = 500;

/** The request of one page. */
export interface PageOf {
  limit: number;
  _continue?: string;
}

/** A page as a typed client returns it, or as raw JSON. */
export interface ListPage<T> {
  items?: T[];
  metadata?: { _continue?: string; continue?: string; resourceVersion?: string };
}

/** Passes each page to `take`; returns the resource version at which all of them were read. */
export async function eachPage<T>(
  read: (page: PageOf) => Promise<ListPage<T>>,
  take: (items: T[]) => void,
): Promise<string> {
  let after: string | undefined;
  let version: string | undefined;
  do {
    const { items = [], metadata = {} } = await read({ limit: pageSize, ...(after ? { _continue: after } : {}) });
    take(items);
    version ??= metadata.resourceVersion;
    after = metadata._continue || metadata.continue;
  } while (after);
  return version ?? "";
}

/** Returns all objects of a list; starts again once if the continue token expires. */
export async function allPages<T>(read: (page: PageOf) => Promise<ListPage<T>>): Promise<T[]> {
  for (let nth = 1;; nth++) {
    const all: T[] = [];
    try {
      await eachPage(read, (items) => all.push(...items));
      return all;
    } catch (error) {
      if (statusOf(error) !== 410 || nth > 1) throw error;
    }
  }
}

// Reads and writes cluster-scoped custom resources.

/** A kind of cluster-scoped objects. */
export type ClusterResource<T> = Resource<T>;

/** Reads one object; throws the API's 404 if it does not exist. */
export async function readClusterObject<T>(kube: Kube, resource: ClusterResource<T>, name: string): Promise<T> {
  return parsedOf(resource, await kube.custom.getClusterCustomObject({ ...placeOf(resource), name }));
}

/** Reads all objects of a kind, page by page. */
export async function listClusterObjects<T>(kube: Kube, resource: ClusterResource<T>): Promise<T[]> {
  return await allPages(async (page) => {
    const answer: unknown = await kube.custom.listClusterCustomObject({ ...placeOf(resource), ...page });
    const { items = [], metadata = {} } = answer as ListPage<unknown>;
    return { metadata, items: items.map((item) => parsedOf(resource, item)) };
  });
}

/** Creates an object, and returns the result; throws the API's 409 if an object of that name exists. */
export async function createClusterObject<T>(
  kube: Kube,
  resource: ClusterResource<T>,
  { kind, ...given }: { kind: string; metadata: object; spec: object },
): Promise<T> {
  const { group, version } = resource;
  const object = { apiVersion: `${group}/${version}`, kind, ...given };
  return parsedOf(resource, await kube.custom.createClusterCustomObject({ ...placeOf(resource), body: object }));
}

/** Merges `body` into an object, and returns the result; throws a 409 if a `resourceVersion` in it is outdated. */
export async function patchClusterObject<T>(
  kube: Kube,
  resource: ClusterResource<T>,
  { name, body }: { name: string; body: object },
): Promise<T> {
  const request = { ...placeOf(resource), name, body };
  return parsedOf(resource, await kube.custom.patchClusterCustomObject(request, asMergePatch));
}

/** Merges `status` into the status of an object; throws a 409 if `resourceVersion` is outdated. */
export async function patchClusterStatus(
  kube: Kube,
  resource: ClusterResource<unknown>,
  { name, status, resourceVersion }: { name: string; status: object; resourceVersion?: string | undefined },
): Promise<void> {
  const body = { ...(resourceVersion === undefined ? {} : { metadata: { resourceVersion } }), status };
  await kube.custom.patchClusterCustomObjectStatus({ ...placeOf(resource), name, body }, asMergePatch);
}

/** Deletes the object; throws the API's 404 if it does not exist, and a 409 if its UID or resource version differs. */
export async function deleteClusterObject(
  kube: Kube,
  resource: ClusterResource<unknown>,
  { name, uid, resourceVersion }: { name: string; uid: string; resourceVersion?: string | undefined },
): Promise<void> {
  const preconditions = { uid, ...(resourceVersion === undefined ? {} : { resourceVersion }) };
  await kube.custom.deleteClusterCustomObject({ ...placeOf(resource), name, body: { preconditions } });
}

function parsedOf<T>({ plural, schema }: ClusterResource<T>, object: unknown): T {
  const result = schema.safeParse(object, { error: inWords });
  if (result.success) return result.data;
  const { name } = (object as { metadata?: { name?: string } }).metadata ?? {};
  const faults = result.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
  throw refused("ObjectInvalid", `Failed to read ${plural} "${name}": ${faults.slice(0, 3).join("; ")}`);
}

function placeOf({ group, version, plural }: ClusterResource<unknown>): {
  group: string;
  version: string;
  plural: string;
} {
  return { group, version, plural };
}
