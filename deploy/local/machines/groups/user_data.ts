/** The user-data of a machine of a scaling group: its node files (see `nodeFiles`), identity, and join ticket. */
import { bootstrapKubeconfig } from "../../../../profiles/mod.ts";
import type { CloudInstance } from "../../cloud/groups/group_cloud.ts";
import type { BootFile } from "./node_files.ts";

export interface UserDataFacts {
  instance: Pick<CloudInstance, "node" | "providerId" | "zone">;
  files: readonly BootFile[];
  cluster: { apiServer: string; caPem: string };
  ticket: string;
}

const join = `#!/usr/bin/env bash
# Makes this machine a node. Safe to run again at any point.
set -euo pipefail
modprobe --all overlay br_netfilter nf_conntrack
sysctl --quiet --load=/etc/sysctl.d/90-ostler.conf
/opt/bin/install-binaries
mkdir -p /var/lib/kubelet/volumeplugins
systemctl enable --now containerd.service
systemctl enable kubelet.service
systemctl start --no-block kubelet.service
`;

const unit: BootFile = {
  path: "/etc/systemd/system/join.service",
  permissions: "0644",
  content: `[Unit]
Description=Join the cluster
Wants=network-online.target
After=network-online.target

[Service]
Type=oneshot
ExecStart=/opt/bin/join
Restart=on-failure
RestartSec=2
`,
};

const kubeletUnit = "/etc/systemd/system/kubelet.service";
const command = "ExecStart=/opt/bin/kubelet ";

/** Returns the cloud-config, which is secret: its reader can join as this machine while the ticket is valid. */
export function userData({ instance, files, cluster, ticket }: UserDataFacts): string {
  const own: BootFile[] = [
    { path: "/etc/machine-name", permissions: "0644", content: instance.node },
    {
      path: "/etc/kubernetes/bootstrap-kubelet.conf",
      permissions: "0600",
      content: bootstrapKubeconfig(cluster, ticket),
    },
    { path: "/opt/bin/join", permissions: "0755", content: join },
    unit,
  ];
  const shared = files.map((file) => file.path === kubeletUnit ? placed(file, instance) : file);
  return cloudConfig(instance, [...shared, ...own]);
}

/** Returns a cloud-config that writes the files, and starts `join.service`, the unit in one of these files. */
export function cloudConfig({ node }: Pick<CloudInstance, "node">, files: readonly BootFile[]): string {
  const runcmd = ["systemctl daemon-reload", "systemctl start --no-block join.service"];
  // JSON is valid YAML.
  return `#cloud-config\n${JSON.stringify({ hostname: node, write_files: files, runcmd })}\n`;
}

/** Returns the kubelet unit with provider id and zone of the instance. */
function placed(file: BootFile, { providerId, zone }: UserDataFacts["instance"]): BootFile {
  const flags = `--provider-id=${providerId} --node-labels=topology.kubernetes.io/zone=${zone} `;
  if (!file.content.includes(command)) {
    throw new Error(`Failed to set provider id and zone of a kubelet: "${file.path}" starts no kubelet`);
  }
  return { ...file, content: file.content.replace(command, `${command}${flags}`) };
}
