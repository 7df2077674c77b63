import type { CloudConfig } from "./cloud_config.ts";

/** The script that installs packages, where a profile has one. */
const script = "/opt/bin/install-packages";

/** The packages that the machine's own script would install; none where it has no such script. */
export function packagesOf(config: CloudConfig): string[] {
  const text = config.files.get(script)?.content ?? "";
  const [, list = ""] = /^packages=\(\n([^)]*)\)/m.exec(text) ?? [];
  return list.split("\n").map((line) => line.trim()).filter((line) => /^[a-z0-9]/i.test(line));
}
