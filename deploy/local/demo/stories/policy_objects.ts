import { labels, type Manifest, pool } from "../pool_objects.ts";

/** Path of the pool's RolloutPolicy on the API server. */
export const policyPath = `/apis/ostler.dev/v1alpha1/namespaces/${pool.namespace}/rolloutpolicies/${pool.name}`;

/** Returns the policy that selects the pool of the story. */
export function rolloutPolicy(spec: object): Manifest {
  return {
    apiVersion: "ostler.dev/v1alpha1",
    kind: "RolloutPolicy",
    metadata: { ...pool },
    spec: { selector: { matchLabels: labels }, ...spec },
  };
}
