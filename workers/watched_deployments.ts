/** The few facts of MachineDeployments that decide about news; nothing else of them is kept. */
import { type Observable, observableOf } from "../activities/config/observed.ts";
import { finalizer } from "../activities/config/pool_annotations.ts";
import { profileRef } from "../activities/config/profile_ref.ts";
import { machineDeployments, type ObjectName, type Resource } from "../activities/kube/resources.ts";
import { MachineDeployment } from "../activities/kube/schemas.ts";

export interface DeploymentFacts extends Observable {
  namespace: string;
  name: string;
  labels: Record<string, string>;
  /** The profile that it asks for; missing from one that is none of ours. */
  profile?: ObjectName;
  /** It does not go before we have cleaned up. */
  isHeld: boolean;
  /** Who makes the machines has taken this generation up, or it needs no more. */
  isNumbered: boolean;
}

/** MachineDeployments as the controller watches them; a profile is in `profileNamespace` where nothing else is said. */
export function watchedDeployments(profileNamespace: string): Resource<DeploymentFacts> {
  const schema = MachineDeployment.transform((deployment): DeploymentFacts => {
    const { namespace, name, generation = 0, labels = {}, finalizers = [], deletionTimestamp } = deployment.metadata;
    const profile = profileRef(deployment, profileNamespace);
    return {
      ...observableOf(deployment),
      ...{ namespace, name, labels },
      ...(profile ? { profile } : {}),
      isHeld: finalizers.includes(finalizer),
      isNumbered: deletionTimestamp !== undefined || (deployment.status?.observedGeneration ?? 0) >= generation,
    };
  });
  return { ...machineDeployments, schema };
}
