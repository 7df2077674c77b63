/**
 * Names that identify the objects of a pool; defined again here, because the observer must not share code with Ostler.
 */

/** The name of a pool, which is a MachineDeployment. */
export interface PoolName {
  readonly namespace: string;
  readonly name: string;
}

/** The namespace in which machine-controller expects the secrets of all pools. */
export const secretsNamespace = "cloud-init-settings";

/** Returns the three secrets that a machine of the pool needs to boot, with the required data key of each. */
export function poolSecrets({ namespace, name }: PoolName): Record<string, string> {
  const long = `${namespace}-${name}`;
  return {
    [`${name}-${namespace}-provisioning-config`]: "cloud-config",
    [`${name}-${namespace}-bootstrap-config`]: "cloud-config",
    [`${long.length >= 63 ? name : long}-kubelet-bootstrap-config`]: "kubeconfig",
  };
}

/**
 * Returns whether a machine, VirtualMachine or node belongs to the pool: `<pool>-<template hash>-<five characters>`.
 */
export function isOfPool(pool: PoolName, machine: string): boolean {
  return machine.startsWith(`${pool.name}-`) && /^[a-z0-9]+-[a-z0-9]{5}$/.test(machine.slice(pool.name.length + 1));
}
