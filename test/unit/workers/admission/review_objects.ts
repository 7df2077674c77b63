/** Admission requests as an API server would send them, and their objects. */
import type { AdmissionRequest, KubeObject } from "../../../../workers/admission/admission_review.ts";

export const profileKey = "k8c.io/operating-system-profile";

export interface DeploymentWords {
  annotations?: Record<string, string> | null;
  kubelet?: string;
  deletionTimestamp?: string;
  replicas?: number;
  /** `maxSurge` and `maxUnavailable`. */
  rollingUpdate?: Record<string, number | string>;
  /** Fields that replace or extend the provider config of an Ubuntu machine on kubevirt. */
  value?: Record<string, unknown>;
}

/** A minimal MachineDeployment. */
export function deployment(words: DeploymentWords = {}): KubeObject {
  const { annotations = { [profileKey]: "osp-ubuntu" }, kubelet = "1.36.1", deletionTimestamp, value } = words;
  const provider = { cloudProvider: "kubevirt", cloudProviderSpec: {}, operatingSystem: "ubuntu", ...value };
  return {
    apiVersion: "cluster.k8s.io/v1alpha1",
    kind: "MachineDeployment",
    metadata: {
      ...{ name: "pool", namespace: "fleet" },
      ...(annotations ? { annotations } : {}),
      ...(deletionTimestamp ? { deletionTimestamp } : {}),
    },
    spec: {
      replicas: words.replicas ?? 1,
      ...(words.rollingUpdate ? { strategy: { rollingUpdate: words.rollingUpdate } } : {}),
      template: { spec: { versions: { kubelet }, providerSpec: { value: provider } } },
    },
  };
}

/** An OperatingSystemProfile with one file per phase; fields of `spec` replace or extend its fields. */
export function profile(spec: Record<string, unknown> = {}): KubeObject {
  return {
    apiVersion: "operatingsystemmanager.k8c.io/v1alpha1",
    kind: "OperatingSystemProfile",
    metadata: { name: "osp-mine", namespace: "kube-system" },
    spec: {
      ...{ osName: "ubuntu", osVersion: "24.04", version: "v1.0.0", provisioningUtility: "cloud-init" },
      supportedCloudProviders: [{ name: "aws" }, { name: "kubevirt" }],
      bootstrapConfig: { files: [file("/opt/bootstrap", "{{ .KubeVersion }}\n")] },
      provisioningConfig: { files: [file("/opt/setup", "{{ if .HTTPProxy }}{{ .HTTPProxy }}{{ end }}\n")] },
      ...spec,
    },
  };
}

export function file(path: string, data: string): object {
  return { path, permissions: 644, content: { inline: { encoding: "b64", data } } };
}

/** A request to create `object`, to change `oldObject` to `object`, or to delete `oldObject` if `object` is null. */
export function request(object: KubeObject | null, oldObject: KubeObject | null = null): AdmissionRequest {
  const { name = "", namespace = "" } = (object ?? oldObject)?.metadata ?? {};
  return {
    ...{ uid: "uid-1", name, namespace, object, oldObject, userInfo: { username: "ada" } },
    operation: object === null ? "DELETE" : oldObject === null ? "CREATE" : "UPDATE",
  };
}
