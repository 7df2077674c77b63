/** What Operating System Manager leaves in a cluster that Ostler has taken over. */
import { type Kube, sharedNamespace } from "../kube/client.ts";
import { admissionGroup } from "../kube/machine_deployment.ts";
import { attempting, ifFound } from "../kube/status.ts";
import { getter, osmLeases, webhookConfiguration } from "./names.ts";
import type { HandoverPool } from "./pools.ts";
import { calledBy, callee } from "./release_cluster.ts";
import { deleteToken, isExpired, type TokenSeen } from "./tokens.ts";

/** One thing that was left. */
export interface Leftover {
  about: string;
  /** Why somebody may still need it; missing where nobody does. */
  needed?: string;
  /** What it does to the cluster as long as it is there. */
  harm: string;
  remove(): Promise<void>;
}

/** What is known of the cluster. */
export interface Known {
  pools: HandoverPool[];
  tokens: TokenSeen[];
  profileNamespace: string;
  /** Epoch ms. */
  now: number;
}

/** Reads which of its webhooks are still asked: where nobody answers them, nothing can be taken over. */
export async function readWebhooks(kube: Kube): Promise<Leftover[]> {
  const plurals = ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"];
  return (await Promise.all(plurals.map((plural) => webhook(kube, plural)))).flat();
}

/** Reads what else was left. */
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
      ...{ harm: "no machine of a pool that Ostler has published boots with them", remove: removeTokens },
    })]),
  ];
}

/** Machines that boot by what Operating System Manager made, now or later. */
function neededFor(pools: HandoverPool[]): string | undefined {
  const pool = pools.find(({ deployment, boot }) => deployment && boot && boot.maker !== "Ostler");
  if (pool) return `pool "${pool.namespace}/${pool.name}" boots with it until Ostler has published it`;
  const booting = pools.find((each) => each.booting.length > 0);
  return booting && `machine "${booting.booting[0]}" may be booting with it`;
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
    "its token never expires and reads the secrets of all pools; going back to Operating System Manager needs it";
  return [leftover(`ServiceAccount "${namespace}/${name}" with its token and rights`, {
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
  const unknown = `nobody can tell whether "${called}" is Ostler's webhook or Operating System Manager's: ` +
    `\`kubectl delete ${plural} ${webhookConfiguration}\` if that is gone`;
  return [leftover(`${plural} "${webhookConfiguration}"`, {
    ...(whose === "unknown" ? { needed: unknown } : {}),
    harm: `without "${called}" it stops all writes of MachineDeployments or profiles`,
    remove: () => ifFound(kube.custom.deleteClusterCustomObject(where)),
  })];
}

async function lease(kube: Kube, where: { namespace: string; name: string }): Promise<Leftover[]> {
  const kind = { group: "coordination.k8s.io", version: "v1", plural: "leases" };
  if (!await ifFound(kube.custom.getNamespacedCustomObject({ ...kind, ...where }))) return [];
  return [leftover(`Lease "${where.namespace}/${where.name}"`, {
    harm: "nobody renews it",
    remove: () => ifFound(kube.custom.deleteNamespacedCustomObject({ ...kind, ...where })),
  })];
}
