import type { Recipe } from "../recipe.ts";
import type { ToolName } from "../tool_name.ts";
import { checkKubeletConfig, checkMachineFiles } from "./checkers.ts";
import { etcd } from "./etcd.ts";
import { kubernetes } from "./kubernetes.ts";
import { machineController } from "./machine_controller.ts";
import { tctl } from "./tctl.ts";
import { temporal } from "./temporal.ts";

/** The recipe of each tool; tools that share one are built by one go invocation. */
export const recipes: Readonly<Record<ToolName, Recipe>> = {
  etcd,
  "kube-apiserver": kubernetes,
  "kube-controller-manager": kubernetes,
  kubectl: kubernetes,
  temporal,
  tctl,
  "machine-controller": machineController,
  "check-machine-files": checkMachineFiles,
  "check-kubelet-config": checkKubeletConfig,
};
