import { labels, type Manifest, pool } from "../pool_objects.ts";

/** Path of the pool's RolloutPolicy on the API server. */
export const policyPath = `/apis/ostler.dev/v1alpha1/namespaces/${pool.namespace}/rolloutpolicies/${pool.name}`;

/** The policy that selects the story's pool. */
export function rolloutPolicy(spec: object): Manifest {
  return {
    apiVersion: "ostler.dev/v1alpha1",
    kind: "RolloutPolicy",
    metadata: { ...pool },
    spec: { selector: { matchLabels: labels }, ...spec },
  };
}
