import "../../../../activities/x509/reflection.ts";
import { X509CertificateGenerator } from "@peculiar/x509";
import { dumpYaml } from "@kubernetes/client-node";

/** A file as write_files has it, without its path. */
export interface FileEntry {
  content: string;
  encoding?: string;
  permissions?: string | number;
}

/** Files by path; undefined removes the file at that path. */
export type Files = Record<string, FileEntry | undefined>;

/** Makes a self-signed certificate authority in PEM. */
export async function makeCa(): Promise<string> {
  const algorithm = { name: "ECDSA", namedCurve: "P-256" };
  const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: "CN=test",
    keys,
    signingAlgorithm: { name: "ECDSA", hash: "SHA-256" },
  });
  return `${certificate.toString("pem")}\n`;
}

/** Writes a cloud-config with these files. */
export function cloudConfig(files: Files, rest: Record<string, unknown> = {}): string {
  const entries = Object.entries(files).flatMap(([path, file]) => file === undefined ? [] : [{ path, ...file }]);
  return `#cloud-config\n${dumpYaml({ ...rest, write_files: entries })}`;
}

/** The input of a machine's user-data. */
export interface UserDataValues {
  hostname: string;
  server: string;
  ca: string;
  token: string;
  secretName: string;
}

/** User-data that keeps the boot contract, with some files changed. */
export function userData(values: UserDataValues, changed: Files = {}, rest: Record<string, unknown> = {}): string {
  const environment = `API_SERVER="${values.server}"\nSECRET_NAMESPACE="cloud-init-settings"\n` +
    `SECRET_NAME="${values.secretName}"\n`;
  const files: Files = {
    "/etc/ostler/boot.env": { content: environment, permissions: "0644" },
    "/etc/ostler/ca.crt": { content: values.ca },
    "/etc/ostler/token": { content: values.token, permissions: "0600" },
    "/opt/bin/bootstrap": { content: base64("#!/bin/bash\n"), encoding: "b64", permissions: "0755" },
    "/etc/systemd/system/bootstrap.service": { content: unit("/opt/bin/bootstrap") },
    ...changed,
  };
  return cloudConfig(files, {
    hostname: values.hostname,
    runcmd: [["systemctl", "start", "bootstrap.service"]],
    ...rest,
  });
}

/** A provisioning config that holds all a node needs, with some files changed. */
export function provisioningConfig(ca: string, kubeconfigSecret: string, changed: Files = {}): string {
  return cloudConfig({
    "/etc/ostler/setup.env": {
      content: `KUBELET_VERSION="v1.36.1"\nBOOTSTRAP_KUBECONFIG_SECRET="${kubeconfigSecret}"\n`,
    },
    "/opt/bin/setup": { content: "#!/bin/bash\n", permissions: 755 },
    "/etc/systemd/system/setup.service": { content: unit("/opt/bin/setup") },
    "/etc/systemd/system/kubelet.service": { content: kubeletUnit() },
    "/etc/kubernetes/kubelet.conf": { content: kubeletConfig(), permissions: "0600" },
    "/etc/kubernetes/pki/ca.crt": { content: ca },
    "/etc/containerd/config.toml": { content: "version = 3\n", permissions: "0600" },
    ...changed,
  });
}

/** A kubelet unit that starts with these further flags. */
export function kubeletUnit(flags = ""): string {
  return "[Service]\nExecStart=/opt/bin/kubelet \\\n  --bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf \\\n" +
    `  --kubeconfig=/var/lib/kubelet/kubeconfig \\\n  --config=/etc/kubernetes/kubelet.conf ${flags}\n`;
}

/** Returns the text in base64, the content of a file with `encoding: b64`. */
export function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}

function unit(command: string): string {
  return `[Unit]\n[Service]\nType=oneshot\nExecStart=${command}\n`;
}

function kubeletConfig(): string {
  return dumpYaml({
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    authentication: { x509: { clientCAFile: "/etc/kubernetes/pki/ca.crt" } },
  });
}
