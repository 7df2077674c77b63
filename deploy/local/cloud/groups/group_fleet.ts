/** What stands behind the instances of scaling groups. */
import type { CloudInstance, GroupCloud } from "./group_cloud.ts";

/** All machines of a cloud, from what it tells of its instances. */
export interface GroupFleet extends AsyncDisposable {
  /** To be told of each instance that is made, and of each that goes. */
  changed(instance: CloudInstance, change: "Made" | "Going"): void;
}

/** The cluster that machines join, and the cloud that they are of. */
export interface FleetWorld {
  /** Text of an administrator's kubeconfig: that of the join service. */
  kubeconfig: string;
  cloud: GroupCloud;
  /** What a node is to run that joins now. */
  components: () => Promise<string>;
  log: (line: string) => void;
}
