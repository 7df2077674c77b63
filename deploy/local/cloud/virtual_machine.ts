import type { KubernetesObject } from "@kubernetes/client-node";

/** The fields of KubeVirt's VirtualMachine that the cloud reads (kubevirt.io/v1). */
export interface VirtualMachine extends KubernetesObject {
  spec?: {
    dataVolumeTemplates?: { spec?: { source?: DiskSource } }[];
    template?: {
      spec?: {
        domain?: { resources?: { requests?: { cpu?: string; memory?: string } } };
        volumes?: Volume[];
      };
    };
  };
}

interface DiskSource {
  registry?: { url?: string };
  http?: { url?: string };
  pvc?: { namespace?: string; name?: string };
}

interface Volume {
  cloudInitNoCloud?: { secretRef?: { name?: string } };
  cloudInitConfigDrive?: { secretRef?: { name?: string } };
}

/** The facts of a VirtualMachine that the cloud needs. */
export interface MachineOrder {
  name: string;
  namespace: string;
  uid: string;
  /** The image of the disk source; "unknown" if the VirtualMachine has no disk source. */
  image: string;
  /** Name of the Secret with the user-data, in the VirtualMachine's namespace. */
  userDataSecret: string | undefined;
  cpu: string;
  memory: string;
  template: unknown;
}

/** Reads the facts of a VirtualMachine. */
export function readOrder(machine: VirtualMachine): MachineOrder {
  const spec = machine.spec?.template?.spec;
  const requests = spec?.domain?.resources?.requests;
  return {
    name: machine.metadata?.name ?? "",
    namespace: machine.metadata?.namespace ?? "",
    uid: machine.metadata?.uid ?? "",
    image: imageOf(machine.spec?.dataVolumeTemplates?.[0]?.spec?.source),
    userDataSecret: spec?.volumes?.map((each) => each.cloudInitNoCloud ?? each.cloudInitConfigDrive)
      .find((source) => source !== undefined)?.secretRef?.name,
    cpu: requests?.cpu ?? "1",
    memory: requests?.memory ?? "1Gi",
    template: spec ?? {},
  };
}

function imageOf(source: DiskSource | undefined): string {
  const claim = source?.pvc;
  return source?.registry?.url ?? source?.http?.url ?? (claim ? `${claim.namespace}/${claim.name}` : "unknown");
}
