/** The scripts that are mounted, in one folder, into hands: the pods that execute orders on nodes. */
import { readFileSync } from "node:fs";
import { basename } from "node:path";

const activities = new URL("../../activities/", import.meta.url);
const files = [
  ...["os/hand.sh", "os/host.sh", "os/pull.sh", "os/check.sh", "os/json.awk"],
  ...["os/drivers/bootc/bootc.sh", "os/drivers/rpm_ostree/rpm-ostree.sh", "os/drivers/ostree/ostree.sh"],
  ...["kubernetes/upgrade.sh", "kubernetes/fetch_file.sh", "kubernetes/run_kubeadm.sh", "kubernetes/swap_kubelet.sh"],
  "kubernetes/renew_certificates.sh",
];

/** Returns the text of each script by its file name. */
export function handScripts(): Record<string, string> {
  return Object.fromEntries(files.map((file) => [basename(file), readFileSync(new URL(file, activities), "utf8")]));
}
