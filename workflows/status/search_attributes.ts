/** The columns of the run list; the worker registers them when it starts. */

/** Keys as the SDK's typed search attributes want them. */
export const searchAttributes = {
  cluster: { name: "KubernetesCluster", type: "KEYWORD" },
  namespace: { name: "KubernetesNamespace", type: "KEYWORD" },
  machineDeployment: { name: "MachineDeployment", type: "KEYWORD" },
  image: { name: "TargetImage", type: "KEYWORD" },
  phase: { name: "Phase", type: "KEYWORD" },
} as const;
