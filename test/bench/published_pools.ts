/** A pool is published when both secrets that a machine boots from have its revision. */
import { secretRevisionAnnotation } from "../../activities/config/names.ts";
import { revisionAnnotation } from "../../activities/kube/machine_deployment.ts";
import { namesOf, secretsNamespace } from "../../profiles/mod.ts";
import { poolsPath } from "../integration/pool_objects.ts";
import type { MomentWatch, Sight } from "./moment_watch.ts";

/** Records when each secret has the annotation of the first revision, by the secret's name. */
export const publishedSecrets: Sight = {
  path: `/api/v1/namespaces/${secretsNamespace}/secrets`,
  keyOf: ({ metadata }) => metadata?.annotations?.[secretRevisionAnnotation] === "1" ? metadata.name : undefined,
};

/** Records when machine-controller has annotated each MachineDeployment with the number of its template, by name. */
export const markedPools: Sight = {
  path: poolsPath(),
  keyOf: ({ metadata }) => metadata?.annotations?.[revisionAnnotation] === "1" ? metadata.name : undefined,
};

/**
 * Records when each MachineDeployment is numbered and its status is written, which is machine-controller's last write.
 */
export const numberedPools: Sight = {
  path: poolsPath(),
  keyOf: ({ metadata = {}, status }) => {
    const { observedGeneration = 0 } = (status ?? {}) as { observedGeneration?: number };
    return observedGeneration >= 1 ? markedPools.keyOf({ metadata }) : undefined;
  },
};

/** Returns the names of the secrets that the machines of these pools in kube-system boot from. */
export function secretsOf(pools: readonly string[]): string[] {
  return pools.flatMap((name) => {
    const { bootstrap, provisioning } = namesOf({ namespace: "kube-system", name });
    return [bootstrap, provisioning];
  });
}

/** Returns when each pool was published (ms), in the order of the pools and without pools that were not published. */
export function publishedMoments(watch: MomentWatch, pools: readonly string[]): number[] {
  return pools.flatMap((pool) => {
    const moments = secretsOf([pool]).map((name) => watch.moments.get(name) ?? NaN);
    return moments.some(Number.isNaN) ? [] : [Math.max(...moments)];
  });
}
