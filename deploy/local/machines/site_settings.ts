/** What a site whose machines are containers sets: nothing that another site with a mirror of its own could not. */
import { kubeletAnnotationPrefix } from "../../../profiles/kubelet_settings.ts";
import { parameterPrefix } from "../../../profiles/mod.ts";
import type { Mirror } from "../mirror/mirror.ts";
import type { HostFacts } from "./host_facts.ts";

/** Settings of Ostler's processes, by environment variable. */
export function siteSettings({ url, registryMirror, images }: Mirror, host: HostFacts): Record<string, string> {
  return {
    ...(host.lacksSysResource ? { OSTLER_RESTRICT_OOM_SCORE_ADJ: "true" } : {}),
    OSTLER_BINARIES_URL: url,
    OSTLER_PAUSE_IMAGE: images.pause,
    OSTLER_NODE_CONTAINERD_REGISTRY_MIRRORS: registryMirror,
  };
}

/** Annotations of each MachineDeployment. */
export function poolAnnotations(host: HostFacts): Record<string, string> {
  return {
    [`${parameterPrefix}failCgroupV1`]: String(host.hasCgroupV2),
    // How full the host's disk is says nothing about the machine.
    [`${kubeletAnnotationPrefix}EvictionHard`]: "memory.available<100Mi,nodefs.available<1%,imagefs.available<1%",
  };
}
