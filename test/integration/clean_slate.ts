/**
 * Removes everything that a test story added to its site (the running API server and Temporal), so that the next story
 * starts as the first one did.
 */
import type { Client } from "@temporalio/client";
import { createHash } from "node:crypto";
import { type ApiConnection, ApiRefusal } from "../../deploy/local/stack/api_connection.ts";
import { waitUntil } from "../../deploy/local/process/wait_until.ts";

interface Kind {
  /** Base path of the API, such as `/apis/apps/v1`. */
  base: string;
  /** Plural name of the resource, such as `deployments`. */
  name: string;
}

interface Found {
  path: string;
  kind: Kind;
  /** Digest of all fields that people write into the object, without its metadata. */
  digest: string;
  finalizers: readonly string[];
  isOwned: boolean;
}

/** Kinds whose objects Kubernetes creates, deletes and changes by itself at any time. */
const unsteady = ["events", "leases", "endpoints", "endpointslices", "componentstatuses"];
/** Kinds whose controllers take minutes, or need a cloud, to allow the deletion of an object. */
const slow = ["machines", "machinesets", "virtualmachines", "virtualmachineinstances", "nodes"];
/** Time limit (ms) for the controllers of Ostler and Kubernetes to finish the deletions. */
const patienceMs = 20_000;
const limitMs = 60_000;
/** A freshly started site is complete when its objects have not changed for this many milliseconds. */
const settledMs = 2_000;

/** Remembers the objects of a freshly started site, and restores that state after each story. */
export class CleanSlate {
  private constructor(
    private readonly api: ApiConnection,
    private readonly temporal: Client,
    private readonly kinds: readonly Kind[],
    private readonly first: ReadonlyMap<string, Found>,
  ) {}

  /** Records all objects of a freshly started site, once the controllers of the site have created theirs. */
  static async of(api: ApiConnection, temporal: Client): Promise<CleanSlate> {
    let [slate, since] = [await CleanSlate.#now(api, temporal), Date.now()];
    await waitUntil(async () => {
      const next = await CleanSlate.#now(api, temporal);
      if (next.#text !== slate.#text) [slate, since] = [next, Date.now()];
      if (Date.now() - since < settledMs) throw new Error("objects are still created");
    }, { what: "a settled site", timeoutMs: limitMs });
    return slate;
  }

  static async #now(api: ApiConnection, temporal: Client): Promise<CleanSlate> {
    // The API server answers 429 for a moment after a CRD is added.
    return await waitUntil(async () => {
      const kinds = await kindsOf(api);
      return new CleanSlate(api, temporal, kinds, await inventory(api, kinds));
    }, { what: "all kinds to be served", timeoutMs: limitMs });
  }

  get #text(): string {
    return JSON.stringify([...this.first.values()]);
  }

  /**
   * Deletes all objects that the fresh site did not have, and ends all workflow runs. Rejects if such an object
   * remains, or if an object of the fresh site was changed or deleted: no other story can use the site then.
   */
  async restore(): Promise<void> {
    const began = Date.now();
    let kinds = this.kinds;
    await waitUntil(async () => {
      const now = await inventory(this.api, kinds);
      const others = [...now.values()].filter(({ path }) => !this.first.has(path));
      // An object with an owner is deleted with its owner; if that takes too long, it is deleted here.
      const isLate = Date.now() - began > patienceMs;
      for (const found of others) {
        const isSlow = slow.includes(found.kind.name);
        if (isSlow || isLate) await this.#release(found);
        if (!found.isOwned || isSlow || isLate) await this.#delete(found);
      }
      // Between the first and the last attempt only the kinds of remaining objects are listed, because lists of all
      // kinds cost the API server too much.
      const isLast = kinds === this.kinds && others.length === 0;
      kinds = others.length === 0 ? this.kinds : kinds.filter((kind) => others.some((found) => found.kind === kind));
      if (!isLast) throw new Error(others.slice(0, 5).map(({ path }) => path).join(", "));
    }, { what: "an empty site", timeoutMs: limitMs });
    await this.#endRuns();
    const now = await inventory(this.api, this.kinds);
    const changed = [...this.first.values()].filter(({ path, digest }) => now.get(path)?.digest !== digest);
    if (changed.length > 0) {
      throw new Error(`Failed to clean the site: ${changed.map(({ path }) => path).join(", ")} changed`);
    }
    await this.#forgetEvents();
  }

  async #release({ path, finalizers }: Found): Promise<void> {
    if (finalizers.length === 0) return;
    const body = { metadata: { finalizers: null } };
    await ifThere(this.api.call({ method: "PATCH", path, body, contentType: "application/merge-patch+json" }));
  }

  async #delete({ path }: Found): Promise<void> {
    await ifThere(
      this.api.call({ method: "DELETE", path: `${path}?gracePeriodSeconds=0&propagationPolicy=Background` }),
    );
  }

  async #endRuns(): Promise<void> {
    const open = async (): Promise<string[]> => {
      const ids: string[] = [];
      for await (const { workflowId } of this.temporal.workflow.list({ query: "ExecutionStatus = 'Running'" })) {
        ids.push(workflowId);
      }
      return ids;
    };
    await waitUntil(async () => {
      const ids = await open();
      if (ids.length > 0) throw new Error(ids.join(", "));
    }, { what: "the end of all runs", timeoutMs: 10_000 }).catch(async () => {
      for (const id of await open()) {
        await this.temporal.workflow.getHandle(id).terminate("its story is over").catch(() => undefined);
      }
    });
  }

  async #forgetEvents(): Promise<void> {
    const { items } = await this.api.call({ method: "GET", path: "/api/v1/events" }) as Listed;
    const namespaces = new Set(items.map(({ metadata: { namespace = "default" } }) => namespace));
    for (const each of namespaces) await this.api.call({ method: "DELETE", path: `/api/v1/namespaces/${each}/events` });
  }
}

interface Listed {
  items: {
    metadata: { name: string; namespace?: string; finalizers?: string[]; ownerReferences?: object[] };
    status?: object;
  }[];
}

/** All kinds of objects that can be listed and deleted. */
async function kindsOf(api: ApiConnection): Promise<Kind[]> {
  const { groups } = await api.call({ method: "GET", path: "/apis" }) as {
    groups: { preferredVersion: { groupVersion: string } }[];
  };
  const bases = ["/api/v1", ...groups.map(({ preferredVersion }) => `/apis/${preferredVersion.groupVersion}`)];
  const all = await Promise.all(bases.map(async (base) => {
    const { resources } = await api.call({ method: "GET", path: base }) as {
      resources: { name: string; verbs: string[] }[];
    };
    return resources.filter(({ name, verbs }) => {
      return !name.includes("/") && verbs.includes("list") && verbs.includes("delete") && !unsteady.includes(name);
    }).map(({ name }) => ({ base, name }));
  }));
  return all.flat();
}

async function inventory(api: ApiConnection, kinds: readonly Kind[]): Promise<Map<string, Found>> {
  const lists = await Promise.all(kinds.map(async (kind) => {
    const { base, name: plural } = kind;
    const { items } = await api.call({ method: "GET", path: `${base}/${plural}` }) as Listed;
    return items.map(({ metadata, status: _, ...written }): Found => {
      const { name, namespace, finalizers = [], ownerReferences = [] } = metadata;
      const place = namespace === undefined ? "" : `/namespaces/${namespace}`;
      const path = `${base}${place}/${plural}/${encodeURIComponent(name)}`;
      const digest = createHash("sha256").update(JSON.stringify(written)).digest("hex");
      return { path, kind, digest, finalizers, isOwned: ownerReferences.length > 0 };
    });
  }));
  return new Map(lists.flat().map((found) => [found.path, found]));
}

async function ifThere(call: Promise<unknown>): Promise<void> {
  await call.catch((error: unknown) => {
    if (!(error instanceof ApiRefusal && [404, 409].includes(error.status))) throw error;
  });
}
