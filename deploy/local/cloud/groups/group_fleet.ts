/** The machines of scaling groups, one for each instance that the simulated cloud creates. */
import type { CloudInstance, GroupCloud } from "./group_cloud.ts";

/** All machines of a cloud: each starts when its instance is created, and ends when its instance is deleted. */
export interface GroupFleet extends AsyncDisposable {
  /** Handles the creation of an instance, and the start of its deletion. */
  changed(instance: CloudInstance, change: "Made" | "Going"): void;
}

/** The cluster that machines join, and their cloud. */
export interface FleetWorld {
  /** Text of an administrator's kubeconfig, for the join service. */
  kubeconfig: string;
  cloud: GroupCloud;
  /**
   * Returns the reference of the components (`kubernetesComponentsReference`) that a node should run if it joins now.
   */
  components: () => Promise<string>;
  log: (line: string) => void;
}
