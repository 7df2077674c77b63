/** Determines which profiles Operating System Manager (1.11) can render. */
import { parseProfile } from "../../profiles/mod.ts";
import type { Kube } from "../kube/client.ts";
import { profiles } from "../kube/resources.ts";
import { headOf, listEach } from "./listing.ts";
import { installedAnnotation } from "../config/default_profiles.ts";

/**
 * Default profiles of Operating System Manager, with the providers that each supports. If a profile of one of these
 * names has other content, Operating System Manager overwrites it.
 */
const osmDefaults: Record<string, string> = {
  "osp-ubuntu": "alibaba aws azure baremetal digitalocean edge gce hetzner kubevirt nutanix openstack " +
    "vmware-cloud-director vsphere",
  "osp-rhel": "aws azure kubevirt openstack vsphere",
  "osp-rockylinux": "aws azure digitalocean hetzner openstack kubevirt vsphere",
  "osp-amzn2": "aws",
  "osp-flatcar": "aws azure gce kubevirt openstack vsphere vmware-cloud-director",
  "osp-flatcar-cloud-init": "anexia",
};

/** An existing profile. */
export interface KnownProfile {
  namespace: string;
  name: string;
  version: string;
  /** Whether Ostler installed the profile. */
  isInstalled: boolean;
  /** Fields and values that Operating System Manager does not know. */
  unknownToOsm: string[];
  /** Why Ostler cannot read the profile; absent if it can. */
  fault?: string;
}

/** The fields of a profile that are checked here. */
interface Said {
  version?: string;
  osName?: string;
  templating?: string;
  extends?: unknown;
  parameters?: object;
  ignitionVersion?: string;
  bootstrapConfig?: { packages?: unknown[] };
  provisioningConfig?: { packages?: unknown[] };
}

/** Reads all profiles, by "namespace/name". */
export async function readProfiles(kube: Kube): Promise<Map<string, KnownProfile>> {
  const all = await listEach(kube, profiles, (object) => {
    const { spec } = object as { spec?: Said };
    const { name, namespace, annotations } = headOf(object as never);
    const fault = faultOf(spec);
    const isInstalled = annotations[installedAnnotation] !== undefined;
    const known = { namespace, name, version: String(spec?.version ?? ""), isInstalled };
    return { ...known, unknownToOsm: unknownToOsm(spec ?? {}), ...(fault === undefined ? {} : { fault }) };
  });
  return new Map(all.map((profile) => [`${profile.namespace}/${profile.name}`, profile]));
}

/**
 * Returns the used fields and values that only Ostler knows. Operating System Manager ignores them; for example, it
 * renders all text as Go templates, also with `templating: eta`.
 */
function unknownToOsm(spec: Said): string[] {
  const { templating, parameters, ignitionVersion, osName } = spec;
  return [
    ...(templating === "eta" ? ["templating: eta"] : []),
    ...(spec.extends === undefined ? [] : ["extends"]),
    ...(Object.keys(parameters ?? {}).length > 0 ? ["parameters"] : []),
    ...(ignitionVersion !== undefined && ignitionVersion !== "2.3.0" ? [`ignitionVersion: ${ignitionVersion}`] : []),
    ...(osName === "debian" ? ["osName: debian"] : []),
    ...([spec.bootstrapConfig, spec.provisioningConfig].some((phase) => phase?.packages?.length) ? ["packages"] : []),
  ];
}

/** Returns why Operating System Manager cannot render the profile of a pool; undefined if it can. */
export function unrenderable(
  known: Map<string, KnownProfile>,
  { profile: ref, provider }: { profile?: { namespace: string; name: string }; provider: string },
  defaultNamespace: string,
): string | undefined {
  if (!ref) return "the MachineDeployment names no profile, or cannot be read";
  const providers = ref.namespace === defaultNamespace ? osmDefaults[ref.name] : undefined;
  if (providers !== undefined) {
    return providers.split(" ").includes(provider)
      ? undefined
      : `profile "${ref.name}" of Operating System Manager does not support provider "${provider}"`;
  }
  const profile = known.get(`${ref.namespace}/${ref.name}`);
  if (profile === undefined) return `profile "${ref.name}" does not exist`;
  if (profile.isInstalled) return `profile "${ref.name}" was installed by Ostler, and the release deletes it`;
  const [first] = profile.unknownToOsm;
  return first === undefined ? undefined : `profile "${ref.name}" uses ${profile.unknownToOsm.join(", ")}`;
}

function faultOf(spec: unknown): string | undefined {
  try {
    parseProfile(spec);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
