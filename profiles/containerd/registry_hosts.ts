import type { NodeSettings } from "../node_settings.ts";
import { ProfileRefused } from "../refusal.ts";
import type { OsFile } from "../schema.ts";
import { mirrorsOf } from "./mirror_flags.ts";
import { tomlKey, tomlString } from "./toml_text.ts";

const dockerHub = "docker.io";
const upstream = "https://registry-1.docker.io";

/** The directory that containerd uses for registries without a directory of their own. */
const fallback = "_default";

interface Host {
  url: string;
  overridePath: boolean;
  skipVerify: boolean;
}

/**
 * Returns the files in which containerd finds mirrors, sorted by path: one for each host of registries that have
 * mirrors or are insecure, and one for Docker Hub. Throws ProfileRefused (RenderFailed) if "*" is an insecure registry
 * without a mirror.
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

/** Returns the directory of a registry: containerd has one for each host, so registries of the same host share it. */
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
    `Failed to write the containerd hosts of registry "${registry}": it is insecure, so it requires a mirror`,
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
