/** Names by which a stranger knows what belongs to a pool; written down anew here, so that the judge is not the judged. */

/** A pool is a MachineDeployment. */
export interface PoolName {
  readonly namespace: string;
  readonly name: string;
}

/** Where machine-controller expects the secrets of all pools. */
export const secretsNamespace = "cloud-init-settings";

/** The three secrets without which no machine of the pool can boot, and the data key each must have. */
export function poolSecrets({ namespace, name }: PoolName): Record<string, string> {
  const long = `${namespace}-${name}`;
  return {
    [`${name}-${namespace}-provisioning-config`]: "cloud-config",
    [`${name}-${namespace}-bootstrap-config`]: "cloud-config",
    [`${long.length >= 63 ? name : long}-kubelet-bootstrap-config`]: "kubeconfig",
  };
}

/** Says whether a machine, its VirtualMachine or its node is the pool's: `<pool>-<template hash>-<five characters>`. */
export function isOfPool(pool: PoolName, machine: string): boolean {
  return machine.startsWith(`${pool.name}-`) && /^[a-z0-9]+-[a-z0-9]{5}$/.test(machine.slice(pool.name.length + 1));
}
