/** Pools of one machine each that cannot join, or not at once, and how to order them. */
import type { ContainerHost } from "../../../deploy/local/machines/container_host.ts";
import { kubeletAnnotationPrefix } from "../../../profiles/kubelet_settings.ts";
import { parameterPrefix } from "../../../profiles/mod.ts";
import { policiesPath, type PoolOverrides, poolsPath, rolloutPolicy } from "../../integration/pool_objects.ts";
import type { World } from "../../integration/world.ts";
import { realPool } from "../real_machines.ts";

/** Machines of pools with this label are given up at their first missed deadline. */
const strict = { deadlines: "strict" };

/**
 * Seconds in which a machine can boot beside all others and fail several times. On a slower computer `isGivenUp`
 * retries the rollout.
 */
const registeredSeconds = 120;
const join = { instance: "90s", address: "90s", registered: `${registeredSeconds}s`, ready: "150s", attempts: 0 };

/**
 * Time limit for a verdict in seconds: the deadline counts from the order, and the last read may be half a minute late.
 */
export const verdictSeconds = registeredSeconds + 120;

const profilesPath = "/apis/operatingsystemmanager.k8c.io/v1alpha1/namespaces/kube-system/operatingsystemprofiles";

/** The faulty fields of a profile; all other fields are those of Ostler's Debian profile, which it extends. */
interface Flaw {
  bootstrapConfig?: object;
  provisioningConfig?: object;
}

/** Profiles with faults, by name. */
function flawedProfiles(strangerCa: string): Record<string, Flaw> {
  const content = { inline: { encoding: "b64", data: strangerCa } };
  return {
    "osp-wrong-ca": { bootstrapConfig: { files: [{ path: "/etc/ostler/ca.crt", permissions: 644, content }] } },
    "osp-no-package": { provisioningConfig: { packages: ["no-such-package"] } },
  };
}

/** Makes the policy and the profiles of these pools; `strangerCa` is the PEM of any other authority. */
export async function prepareFaults(world: World, strangerCa: string): Promise<void> {
  await world.create(policiesPath(), rolloutPolicy("strict", { join }, strict));
  for (const [name, flaw] of Object.entries(flawedProfiles(strangerCa))) {
    await world.create(profilesPath, {
      apiVersion: "operatingsystemmanager.k8c.io/v1alpha1",
      kind: "OperatingSystemProfile",
      metadata: { name, namespace: "kube-system" },
      spec: { extends: { name: "osp-debian" }, osName: "debian", version: "v1.0.0", ...flaw },
    });
  }
}

/** Orders a pool; the machine of a strict pool is given up when it does not join in time. */
export async function order(
  { world, host }: { world: World; host: ContainerHost },
  { isStrict, ...overrides }: PoolOverrides & { isStrict: boolean },
): Promise<void> {
  await world.create(poolsPath(), realPool(host, { ...overrides, labels: isStrict ? strict : {} }));
}

/**
 * A setting that only the kubelet itself refuses, because no schema lists the eviction signals that the kubelet knows.
 */
export const nonsenseSignal = { [`${kubeletAnnotationPrefix}EvictionHard`]: "moonlight.available<1%" };

/** Returns the annotation of a pool that names the mirror from which its machines install packages. */
export function withPackages(host: ContainerHost): Record<string, string> {
  return { [`${parameterPrefix}packageMirror`]: host.mirror.packagesUrl };
}
