/** The search attributes of runs; the worker registers them when it starts. */

/** Name and type of each search attribute, in the form of the SDK's typed search attributes. */
export const searchAttributes = {
  cluster: { name: "KubernetesCluster", type: "KEYWORD" },
  namespace: { name: "KubernetesNamespace", type: "KEYWORD" },
  machineDeployment: { name: "MachineDeployment", type: "KEYWORD" },
  image: { name: "TargetImage", type: "KEYWORD" },
  phase: { name: "Phase", type: "KEYWORD" },
} as const;
