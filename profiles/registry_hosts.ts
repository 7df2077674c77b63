import type { OsFile } from "./schema.ts";

const upstream = "https://registry-1.docker.io";

/** The containerd host files, one per registry, that follow the profile's own files. */
export function registryHostFiles(): OsFile[] {
  const data = [
    `server = "${upstream}"`,
    "",
    `[host."${upstream}"]`,
    `  capabilities = ["pull", "resolve"]`,
    "",
  ].join("\n");
  return [{ path: "/etc/containerd/certs.d/docker.io/hosts.toml", permissions: 600, content: { inline: { data } } }];
}
