/** Objects that Operating System Manager leaves in a cluster that Ostler has taken over. */
import { type Kube, sharedNamespace } from "../kube/client.ts";
import { admissionGroup } from "../kube/machine_deployment.ts";
import { attempting, ifFound } from "../kube/status.ts";
import { getter, osmLeases, webhookConfiguration } from "./names.ts";
import type { HandoverPool } from "./pools.ts";
import { calledBy, callee } from "./release_cluster.ts";
import { deleteToken, isExpired, type TokenSeen } from "./tokens.ts";

/** One leftover object. */
export interface Leftover {
  about: string;
  /** Why the object may still be needed; absent if it is not. */
  needed?: string;
  /** The harm of the object while it exists. */
  harm: string;
  remove(): Promise<void>;
}

/** Facts about the cluster that show which leftovers are still needed. */
export interface Known {
  pools: HandoverPool[];
  tokens: TokenSeen[];
  profileNamespace: string;
  /** The current time (epoch ms). */
  now: number;
}

/**
 * Returns the webhook configurations that call, or may call, Operating System Manager's webhook. Once this webhook is
 * removed, the configurations that call it block all writes of MachineDeployments or profiles, also the writes of a
 * takeover by Ostler.
 */
export async function readWebhooks(kube: Kube): Promise<Leftover[]> {
  const plurals = ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"];
  return (await Promise.all(plurals.map((plural) => webhook(kube, plural)))).flat();
}

/** Reads all leftovers except the webhook configurations. */
export async function readLeftovers(kube: Kube, known: Known): Promise<Leftover[]> {
  const needed = neededFor(known.pools);
  const found = await Promise.all([
    getterParts(kube, needed),
    ...osmLeases.map((name) => lease(kube, { namespace: sharedNamespace(kube, known.profileNamespace), name })),
  ]);
  const tokens = known.tokens.filter(({ owner }) => owner === undefined);
  const unused = tokens.filter((token) => isExpired(token, known.now) || needed === undefined);
  const removeTokens = async (): Promise<void> => {
    for (const token of unused) await deleteToken(kube, token);
  };
  return [
    ...found.flat(),
    ...(unused.length === 0 ? [] : [leftover(`bootstrap tokens of Operating System Manager: ${unused.length}`, {
      ...{
        harm: "they remain valid, although no machine of a pool that Ostler published boots with them",
        remove: removeTokens,
      },
    })]),
  ];
}

/**
 * Returns why objects of Operating System Manager are still needed, as a sentence that names a pool or machine that
 * boots with the objects; undefined if no pool or machine boots with them.
 */
function neededFor(pools: HandoverPool[]): string | undefined {
  const pool = pools.find(({ deployment, boot }) => deployment && boot && boot.maker !== "Ostler");
  if (pool) {
    return `machines of "${pool.namespace}/${pool.name}" boot with its token until Ostler publishes the pool's config`;
  }
  const booting = pools.find((each) => each.booting.length > 0);
  return booting && `machine "${booting.booting[0]}" may be booting with its token`;
}

interface Part extends Omit<Leftover, "about" | "remove"> {
  remove: () => Promise<unknown>;
}

function leftover(about: string, { remove, ...rest }: Part): Leftover {
  return { about, ...rest, remove: () => attempting(`remove ${about}`, async () => void await remove()) };
}

async function getterParts(kube: Kube, needed: string | undefined): Promise<Leftover[]> {
  const { namespace, account: name, secret } = getter;
  const where = { name, namespace };
  const [token, account] = await Promise.all([
    ifFound(kube.core.readNamespacedSecret({ name: secret, namespace })),
    ifFound(kube.core.readNamespacedServiceAccount(where)),
  ]);
  if (!token && !account) return [];
  const remove = async (): Promise<void> => {
    await ifFound(kube.rbac.deleteNamespacedRoleBinding(where));
    await ifFound(kube.rbac.deleteNamespacedRole(where));
    await ifFound(kube.core.deleteNamespacedSecret({ name: secret, namespace }));
    await ifFound(kube.core.deleteNamespacedServiceAccount(where));
  };
  const harm =
    "its token never expires and can read the secrets of all pools; a return to Operating System Manager requires it";
  return [leftover(`ServiceAccount "${namespace}/${name}" with its token and permissions`, {
    ...{ harm, remove },
    ...(needed === undefined ? {} : { needed }),
  })];
}

async function webhook(kube: Kube, plural: string): Promise<Leftover[]> {
  const where = { ...admissionGroup, plural, name: webhookConfiguration };
  const object: unknown = await ifFound(kube.custom.getClusterCustomObject(where));
  const whose = object === undefined ? "ours" : callee(object);
  if (whose === "ours") return [];
  const called = calledBy(object)[0] ?? "";
  const unknown = `cannot determine whether "${called}" is the webhook of Ostler or of Operating System Manager; run ` +
    `\`kubectl delete ${plural} ${webhookConfiguration}\` if that webhook was removed`;
  return [leftover(`${plural} "${webhookConfiguration}"`, {
    ...(whose === "unknown" ? { needed: unknown } : {}),
    harm: `this configuration blocks all writes of MachineDeployments or profiles while "${called}" is absent`,
    remove: () => ifFound(kube.custom.deleteClusterCustomObject(where)),
  })];
}

async function lease(kube: Kube, where: { namespace: string; name: string }): Promise<Leftover[]> {
  const kind = { group: "coordination.k8s.io", version: "v1", plural: "leases" };
  if (!await ifFound(kube.custom.getNamespacedCustomObject({ ...kind, ...where }))) return [];
  return [leftover(`Lease "${where.namespace}/${where.name}"`, {
    harm: "it has no effect, because no process renews it",
    remove: () => ifFound(kube.custom.deleteNamespacedCustomObject({ ...kind, ...where })),
  })];
}
