/** Versions of the kubelets that can be built, by tool name. */
export const kubeletVersions = { "kubelet-1.35": "v1.35.3", "kubelet-1.36": "v1.36.1" } as const;

/** Versions of a machine's other programs: the versions that the profiles install. */
export const machineVersions = {
  containerd: "v2.2.9",
  runc: "v1.4.3",
  cni: "v1.9.1",
  crictl: "v1.36.0",
} as const;
