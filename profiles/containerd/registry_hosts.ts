import type { NodeSettings } from "../node_settings.ts";
import { ProfileRefused } from "../refusal.ts";
import type { OsFile } from "../schema.ts";
import { mirrorsOf } from "./mirror_flags.ts";
import { tomlKey, tomlString } from "./toml_text.ts";

const dockerHub = "docker.io";
const upstream = "https://registry-1.docker.io";

/** containerd's name for all registries without a directory of their own. */
const fallback = "_default";

interface Host {
  url: string;
  overridePath: boolean;
  skipVerify: boolean;
}

/**
 * The files in which containerd looks for mirrors: one per registry that has some or is insecure, and one for Docker Hub,
 * sorted by path. Throws ProfileRefused (RenderFailed) when all registries shall be insecure but no mirror serves them.
 */
export function registryHostFiles(settings: NodeSettings): OsFile[] {
  const mirrors = mirrorsOf(settings);
  const insecure = settings.nodeInsecureRegistries.map((name) => name.trim()).filter((name) => name !== "");
  const registries = new Set([dockerHub, ...mirrors.map(({ registry }) => registry), ...insecure]);
  const files = [...Map.groupBy([...registries].sort(), directoryOf)].map(([directory, names]) => {
    const server = serverOf(directory, names);
    const hosts = names.flatMap((name): Host[] => {
      const skipVerify = insecure.includes(name);
      const own = mirrors.filter(({ registry }) => registry === name);
      if (own.length > 0) return own.map(({ url, overridePath }) => ({ url, overridePath, skipVerify }));
      return skipVerify ? [{ url: selfOf(server, name), overridePath: false, skipVerify }] : [];
    });
    const pulled = hosts.length > 0 ? hosts : [{ url: upstream, overridePath: false, skipVerify: false }];
    return fileOf(directory, { server, hosts: pulled });
  });
  return files.sort(({ path: left }, { path: right }) => left < right ? -1 : 1);
}

/** containerd knows hosts only: registries that differ behind the first slash share a directory. */
function directoryOf(registry: string): string {
  const [host = ""] = registry.split("/");
  return host === "*" ? fallback : host;
}

function serverOf(directory: string, [only = directory, ...others]: string[]): string {
  if (directory === dockerHub) return upstream;
  if (directory === fallback) return "";
  return others.length === 0 ? only : directory;
}

function selfOf(server: string, registry: string): string {
  if (server !== "") return server;
  throw new ProfileRefused(
    "RenderFailed",
    `Cannot write the containerd hosts of registry "${registry}": it is insecure, but has no mirror`,
  );
}

function fileOf(directory: string, { server, hosts }: { server: string; hosts: Host[] }): OsFile {
  const tables = [...Map.groupBy(hosts, ({ url }) => url)].sort(([left], [right]) => left < right ? -1 : 1)
    .flatMap(([url, same]) => [
      `[host.${tomlKey(url)}]`,
      `capabilities = ["pull", "resolve"]`,
      ...(same.some(({ skipVerify }) => skipVerify) ? ["skip_verify = true"] : []),
      ...(same.some(({ overridePath }) => overridePath) ? ["override_path = true"] : []),
    ]);
  const lines = [...(server === "" ? [] : [`server = ${tomlString(server)}`, ""]), ...tables];
  const data = `${lines.join("\n")}\n`;
  return { path: `/etc/containerd/certs.d/${directory}/hosts.toml`, permissions: 600, content: { inline: { data } } };
}
