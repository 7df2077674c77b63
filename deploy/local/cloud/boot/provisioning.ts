import { type CloudConfig, isMap, parseYamlMap } from "./cloud_config.ts";
import {
  execStarts,
  needCertificate,
  needFile,
  needSecretFile,
  needService,
  needVariables,
  unusable,
} from "./file_checks.ts";

/** The parts of a provisioning config (the second cloud-config of a boot) that a machine needs to start its kubelet. */
export interface Provisioning {
  /** Kubelet version with a leading "v". */
  kubelet: string;
  kubeconfigSecret: string;
  taints: readonly Taint[];
}

/** A taint with which the kubelet registers its Node. */
export interface Taint {
  key: string;
  value?: string;
  effect: string;
}

const kubeletUnit = "/etc/systemd/system/kubelet.service";
const kubeletConfig = "/etc/kubernetes/kubelet.conf";
const clusterCa = "/etc/kubernetes/pki/ca.crt";
const setup = "/etc/ostler/setup.env";
const neededFlags = {
  "bootstrap-kubeconfig": "/etc/kubernetes/bootstrap-kubelet.conf",
  config: kubeletConfig,
};

/**
 * Reads the values that a node needs from the provisioning config (the second cloud-config); throws Hopeless with the
 * file name if a value is missing or invalid.
 */
export function readProvisioning(config: CloudConfig, bootstrapCa: string): Provisioning {
  const variables = needVariables(config, setup, ["KUBELET_VERSION", "BOOTSTRAP_KUBECONFIG_SECRET"]);
  if (!/^v?\d+\.\d+\.\d+/.test(variables.KUBELET_VERSION)) {
    throw unusable(setup, `KUBELET_VERSION "${variables.KUBELET_VERSION}" is not a version`);
  }
  needService(config, "/opt/bin/setup");
  checkClusterCa(config, bootstrapCa);
  checkKubeletConfig(config);
  checkContainerRuntime(config);
  return {
    kubelet: `v${variables.KUBELET_VERSION.replace(/^v/, "")}`,
    kubeconfigSecret: variables.BOOTSTRAP_KUBECONFIG_SECRET,
    taints: registrationTaints(readKubeletFlags(config)),
  };
}

function readKubeletFlags(config: CloudConfig): Map<string, string> {
  const command = execStarts(needFile(config, kubeletUnit).content).find((line) => /\bkubelet\b/.test(line));
  if (command === undefined) throw unusable(kubeletUnit, "it starts no kubelet");
  const flags = new Map<string, string>();
  for (const match of command.matchAll(/--([a-z-]+)[= ]"?([^\s"]+)"?/g)) flags.set(match[1] ?? "", match[2] ?? "");
  for (const [name, value] of Object.entries(neededFlags)) {
    if (flags.get(name) !== value) throw unusable(kubeletUnit, `flag --${name} is not "${value}"`);
  }
  return flags;
}

function registrationTaints(flags: Map<string, string>): Taint[] {
  const list = flags.get("register-with-taints") ?? "";
  return list.split(",").filter((text) => text !== "").map((text) => {
    const match = /^([^=:]+)(?:=([^:]*))?:(NoSchedule|PreferNoSchedule|NoExecute)$/.exec(text);
    if (match === null) throw unusable(kubeletUnit, `"${text}" in --register-with-taints is not a taint`);
    const [, key = "", value, effect = ""] = match;
    return value ? { key, value, effect } : { key, effect };
  });
}

function checkKubeletConfig(config: CloudConfig): void {
  const parsed = parseYamlMap(needFile(config, kubeletConfig).content, kubeletConfig);
  if (parsed["apiVersion"] !== "kubelet.config.k8s.io/v1beta1" || parsed["kind"] !== "KubeletConfiguration") {
    throw unusable(kubeletConfig, "it is not a KubeletConfiguration of kubelet.config.k8s.io/v1beta1");
  }
  const authentication = parsed["authentication"];
  const x509 = isMap(authentication) ? authentication["x509"] : undefined;
  const clientCa = isMap(x509) ? x509["clientCAFile"] : undefined;
  if (clientCa !== undefined && !config.files.has(String(clientCa))) {
    throw unusable(kubeletConfig, `its clientCAFile "${String(clientCa)}" is missing`);
  }
}

function checkClusterCa(config: CloudConfig, bootstrapCa: string): void {
  if (needCertificate(config, clusterCa).trim() !== bootstrapCa.trim()) {
    throw unusable(clusterCa, `it differs from "/etc/ostler/ca.crt"`);
  }
}

function checkContainerRuntime(config: CloudConfig): void {
  needSecretFile(config, "/etc/containerd/config.toml");
  const secret = /^\/etc\/(containerd\/certs\.d\/.*\/hosts\.toml|kubernetes\/cloud-config)$/;
  for (const [path, file] of config.files) {
    if (secret.test(path) && file.content.trim() !== "") needSecretFile(config, path);
  }
}
