/** The files with which kubeadm turns a machine into a node, in addition to those of its image. */
import type { BootFile } from "../../../deploy/local/machines/groups/node_files.ts";

const kubeletUnit = "/etc/systemd/system/kubelet.service";
/** Files that kubeadm writes itself, or requires to be absent. */
const replaced = [kubeletUnit, "/etc/kubernetes/kubelet.conf", "/etc/kubernetes/pki/ca.crt"];

const unit = `[Unit]
Description=kubelet, the agent of Kubernetes on this node
Wants=containerd.service network-online.target
After=containerd.service network-online.target
StartLimitIntervalSec=0

[Service]
Environment=PATH=/opt/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
ExecStartPre=/opt/bin/node-address
ExecStart=/opt/bin/kubelet \\
  --bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf \\
  --kubeconfig=/etc/kubernetes/kubelet.conf \\
  --config=/var/lib/kubelet/config.yaml \\
  $KUBELET_KUBEADM_ARGS
Restart=always
RestartSec=2

[Install]
WantedBy=multi-user.target
`;

// systemd does not retry this unit, because kubeadm refuses a partly configured machine, and Ostler replaces machines
// that do not join.
const joinUnit = `[Unit]
Description=Become a node by kubeadm
Wants=network-online.target
After=network-online.target

[Service]
Type=oneshot
Environment=PATH=/opt/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
ExecStart=/opt/bin/join
`;

const script = (command: string): string =>
  `#!/usr/bin/env bash
# Makes this machine a node.
set -euo pipefail
modprobe --all overlay br_netfilter nf_conntrack
sysctl --quiet --load=/etc/sysctl.d/90-ostler.conf
/opt/bin/install-binaries
source /etc/ostler/setup.env
case $(uname -m) in x86_64) arch=amd64 ;; *) arch=arm64 ;; esac
url=$KUBERNETES_URL/$KUBELET_VERSION/bin/linux/$arch/kubeadm
curl --silent --show-error --fail --retry 3 --output /opt/bin/kubeadm "$url"
echo "$(curl --silent --show-error --fail --retry 3 "$url.sha256")  /opt/bin/kubeadm" | sha256sum --check --quiet -
chmod 755 /opt/bin/kubeadm
systemctl enable --now containerd.service
systemctl enable kubelet.service
${command}
`;

/** Returns the files of a machine: those of the image that kubeadm does not replace, and those that kubeadm needs. */
export function bootFiles(
  files: readonly BootFile[],
  { verb, config }: { verb: "init" | "join"; config: string },
): BootFile[] {
  const path = "/etc/kubernetes/kubeadm.yaml";
  return [
    ...files.filter((file) => !replaced.includes(file.path)),
    { path: kubeletUnit, permissions: "0644", content: unit },
    { path: "/etc/systemd/system/join.service", permissions: "0644", content: joinUnit },
    { path: "/opt/bin/join", permissions: "0755", content: script(`kubeadm ${verb} --config ${path}`) },
    { path, permissions: "0600", content: config },
  ];
}
