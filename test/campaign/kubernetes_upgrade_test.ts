/** A cluster gets another image and the next minor version of Kubernetes by one edit, without a failed promise. */
import { machineTest } from "../machines/real_machines.ts";
import { upgrades } from "./kubernetes_upgrade_story.ts";
import { withOldKubernetes } from "./kubernetes_upgrade_world.ts";

machineTest(
  "K23 control planes: three of them and two workers take another image and the next Kubernetes, the workers last",
  () => withOldKubernetes((scene) => upgrades(scene)),
);
