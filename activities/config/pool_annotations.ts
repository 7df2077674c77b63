/** What a MachineDeployment says to whoever makes its config, by the names that Operating System Manager gave them. */

export const profileAnnotation = "k8c.io/operating-system-profile";
export const profileNamespaceAnnotation = "k8c.io/operating-system-profile-namespace";
/** It waits to be cleaned up after. */
export const finalizer = "kubermatic.io/cleanup-operating-system-configs";
