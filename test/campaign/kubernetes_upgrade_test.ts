/**
 * One edit gives a cluster another image and the next minor version of Kubernetes; the API server serves requests
 * meanwhile, and no worker node has a kubelet that is newer than an API server.
 */
import { machineTest } from "../machines/real_machines.ts";
import { upgrades } from "./kubernetes_upgrade_story.ts";
import { withOldKubernetes } from "./kubernetes_upgrade_world.ts";

machineTest(
  "K23 control planes: three of them and two workers take another image and the next Kubernetes, the workers last",
  () => withOldKubernetes((scene) => upgrades(scene)),
);
