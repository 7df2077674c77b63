/**
 * Two pools, one with a profile that extends Ostler's Debian profile, and one with Ostler's Ubuntu profile. Each of
 * their many settings can be checked on a machine.
 */
import type { ContainerHost } from "../../deploy/local/machines/container_host.ts";
import type { MachineContainer } from "../../deploy/local/machines/machine_container.ts";
import { kubeletAnnotationPrefix } from "../../profiles/kubelet_settings.ts";
import { parameterPrefix } from "../../profiles/mod.ts";
import { type PoolOverrides, poolsPath } from "../integration/pool_objects.ts";
import type { World } from "../integration/world.ts";
import { realPool } from "./real_machines.ts";

/** A machine that was switched on, and its pool. */
export interface Booted {
  world: World;
  host: ContainerHost;
  pool: string;
  /** Name of the machine, and of its node if it has joined. */
  name: string;
  machine: MachineContainer;
}

/** A package that no image of a machine contains. */
export const extraPackage = "tree";
export const sshKey = `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI${"A".repeat(43)} ada@example`;
export const nodeLabels = { "machines.example/rack": "r7" };
export const nodeTaint = { key: "machines.example/dedicated", value: "boot", effect: "NoSchedule" };
export const initialTaint = { key: "machines.example/new", value: "yes", effect: "PreferNoSchedule" };

/**
 * Every kubelet setting that the annotations of a pool can define, with values that differ from the kubelet's defaults.
 */
export const askedOfKubelet = {
  MaxPods: "42",
  SystemReserved: "cpu=150m,memory=100Mi,ephemeral-storage=500Mi",
  KubeReserved: "cpu=120m,memory=110Mi",
  EvictionHard: "memory.available<90Mi,nodefs.available<1%,imagefs.available<2%",
  ContainerLogMaxSize: "30Mi",
  ContainerLogMaxFiles: "3",
  ImageGCHighThresholdPercent: "98",
  ImageGCLowThresholdPercent: "97",
  ImageMinimumGCAge: "3m30s",
  ImageMaximumGCAge: "36h",
};

const registryLogins = { namespace: "kube-system", name: "registry-logins" };

/** The settings of Ostler for the taints and registry credentials of these pools. */
export const siteSettings = {
  OSTLER_INITIAL_TAINTS: `${initialTaint.key}=${initialTaint.value}:${initialTaint.effect}`,
  OSTLER_NODE_REGISTRY_CREDENTIALS_SECRET: `${registryLogins.namespace}/${registryLogins.name}`,
};

/** Orders one machine of each pool; resolves when both are switched on, long before they are nodes. */
export async function orderMachines(world: World, host: ContainerHost): Promise<Record<"debian" | "ubuntu", Booted>> {
  const logins = { "registry.example": JSON.stringify({ username: "ada", password: crypto.randomUUID() }) };
  await world.create(`/api/v1/namespaces/${registryLogins.namespace}/secrets`, {
    metadata: { name: registryLogins.name },
    stringData: logins,
  });
  await world.create(profilesPath, acmeProfile);
  await world.create(poolsPath(), debianPool(host));
  const ubuntu = { name: "ubuntu", profile: "osp-ubuntu", operatingSystem: "ubuntu" };
  await world.create(poolsPath(), realPool(host, ubuntu));
  return { debian: await switchedOn(world, host, "debian"), ubuntu: await switchedOn(world, host, "ubuntu") };
}

const profilesPath = "/apis/operatingsystemmanager.k8c.io/v1alpha1/namespaces/kube-system/operatingsystemprofiles";

const acmeProfile = {
  apiVersion: "operatingsystemmanager.k8c.io/v1alpha1",
  kind: "OperatingSystemProfile",
  metadata: { name: "osp-acme", namespace: "kube-system" },
  spec: {
    extends: { name: "osp-debian" },
    osName: "debian",
    version: "v1.0.0",
    provisioningConfig: { packages: [extraPackage] },
  },
};

function debianPool(host: ContainerHost): object {
  const asked = Object.entries(askedOfKubelet).map(([name, value]) => [`${kubeletAnnotationPrefix}${name}`, value]);
  const annotations = { ...Object.fromEntries(asked), [`${parameterPrefix}packageMirror`]: host.mirror.packagesUrl };
  const overrides: PoolOverrides = { name: "debian", profile: "osp-acme", provision: { sshPublicKeys: [sshKey] } };
  const pool = realPool(host, { ...overrides, annotations }) as { spec: { template: { spec: object } } };
  const { template } = pool.spec;
  const spec = { ...template.spec, metadata: { labels: nodeLabels }, taints: [nodeTaint] };
  return { ...pool, spec: { ...pool.spec, template: { ...template, spec } } };
}

async function switchedOn(world: World, host: ContainerHost, pool: string): Promise<Booted> {
  return await world.until(`a machine of pool "${pool}"`, async () => {
    const view = world.site.cloud.machines().find(({ name }) => name.startsWith(`${pool}-`));
    const machine = view && await host.machine(view.name).catch(() => undefined);
    return machine && { world, host, pool, name: view.name, machine };
  }, 180);
}
