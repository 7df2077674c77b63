/** The mounted scripts of hands: one folder, by file name. */
import { readFileSync } from "node:fs";
import { basename } from "node:path";

const os = new URL("../../activities/os/", import.meta.url);
const files = [
  ...["hand.sh", "pull.sh", "check.sh", "json.awk"],
  ...["drivers/bootc/bootc.sh", "drivers/rpm_ostree/rpm-ostree.sh", "drivers/ostree/ostree.sh"],
];

/** Text by name. */
export function handScripts(): Record<string, string> {
  return Object.fromEntries(files.map((file) => [basename(file), readFileSync(new URL(file, os), "utf8")]));
}
