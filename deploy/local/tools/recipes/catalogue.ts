import type { Recipe } from "../recipe.ts";
import type { ToolName } from "../tool_name.ts";
import { checkKubeletConfig, checkMachineFiles } from "./checkers.ts";
import { cosign } from "./cosign.ts";
import { etcd } from "./etcd.ts";
import { helm } from "./helm.ts";
import { cniPlugins, containerd, crictl, runc } from "./machine_programs.ts";
import { kubelet35, kubelet36, kubernetes } from "./kubernetes.ts";
import { pause, podServer } from "./pod_programs.ts";
import { machineController } from "./machine_controller.ts";
import { registry } from "./registry.ts";
import { tctl } from "./tctl.ts";
import { temporal, temporalServer } from "./temporal.ts";

/** The recipe of each tool; tools that share one are built by one go invocation. */
export const recipes: Readonly<Record<ToolName, Recipe>> = {
  etcd,
  "kube-apiserver": kubernetes,
  "kube-controller-manager": kubernetes,
  kubectl: kubernetes,
  kubeadm: kubernetes,
  "kube-scheduler": kubernetes,
  temporal,
  tctl,
  helm,
  "machine-controller": machineController,
  "check-machine-files": checkMachineFiles,
  "check-kubelet-config": checkKubeletConfig,
  "kubelet-1.35": kubelet35,
  "kubelet-1.36": kubelet36,
  containerd,
  "containerd-shim-runc-v2": containerd,
  ctr: containerd,
  runc,
  "cni-bridge": cniPlugins,
  "cni-host-local": cniPlugins,
  "cni-loopback": cniPlugins,
  "cni-portmap": cniPlugins,
  "cni-ptp": cniPlugins,
  crictl,
  pause,
  "pod-server": podServer,
  cosign,
  registry,
  "temporal-server": temporalServer,
  "temporal-sql-tool": temporalServer,
};
