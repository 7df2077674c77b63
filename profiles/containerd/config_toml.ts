import type { RegistryAuth } from "../facts.ts";
import type { NodeSettings } from "../node_settings.ts";
import { tomlKey, tomlString } from "./toml_text.ts";

const images = `plugins."io.containerd.cri.v1.images"`;
const runtime = `plugins."io.containerd.cri.v1.runtime"`;

/**
 * Returns containerd's `config.toml`, version 3, byte for byte in the layout of Operating System Manager, because every
 * changed byte replaces machines.
 */
export function containerdConfig(settings: NodeSettings, auths: Record<string, RegistryAuth>): string {
  const lines = [
    "version = 3",
    "",
    "[metrics]",
    `address = "127.0.0.1:1338"`,
    "",
    "[plugins]",
    ...imageLines(settings.pauseImage, auths),
    `[${runtime}]`,
    `device_ownership_from_security_context = ${settings.deviceOwnershipFromSecurityContext}`,
    ...(settings.restrictOomScoreAdj ? ["restrict_oom_score_adj = true"] : []),
    `[${runtime}.containerd]`,
    `[${runtime}.containerd.runtimes]`,
    `[${runtime}.containerd.runtimes.runc]`,
    `runtime_type = "io.containerd.runc.v2"`,
    `[${runtime}.containerd.runtimes.runc.options]`,
    "SystemdCgroup = true",
    `[${runtime}.cni]`,
    `bin_dirs = ["/opt/cni/bin"]`,
    `conf_dir = "/etc/cni/net.d"`,
  ];
  return `${lines.join("\n")}\n`;
}

function imageLines(pauseImage: string, auths: Record<string, RegistryAuth>): string[] {
  return [
    `[${images}]`,
    "discard_unpacked_layers = false",
    ...(pauseImage === "" ? [] : [`[${images}.pinned_images]`, `sandbox = ${tomlString(pauseImage)}`]),
    `[${images}.registry]`,
    `config_path = "/etc/containerd/certs.d"`,
    ...authLines(auths),
  ];
}

function authLines(auths: Record<string, RegistryAuth>): string[] {
  // Each host gets only one entry, because two would define a table twice, which TOML forbids.
  const byHost = Object.fromEntries(Object.entries(auths).sort(byKey).map(([key, auth]) => [hostOf(key), auth]));
  const hosts = Object.entries(byHost).sort(byKey);
  if (hosts.length === 0) return [];
  const parent = `${images}.registry.configs`;
  const tables = hosts.flatMap(([host, auth]) => {
    const table = `${parent}.${tomlKey(host)}`;
    return [`[${table}]`, `[${table}.auth]`, ...credentialLines(auth)];
  });
  return [`[${parent}]`, ...tables];
}

function credentialLines({ username, password, auth, identitytoken }: RegistryAuth): string[] {
  return Object.entries({ username, password, auth, identitytoken })
    .flatMap(([name, value]) => value ? [`${name} = ${tomlString(value)}`] : []);
}

/** The names of Docker Hub in a Docker config; containerd pulls images of Docker Hub from `registry-1.docker.io`. */
const dockerHub = ["docker.io", "index.docker.io"];

/** Returns host and port of a registry, as containerd needs them; a Docker config can name a registry by its URL. */
function hostOf(registry: string): string {
  const host = /^[a-z][a-z0-9+.-]*:\/\/(?:[^@/?#]*@)?([^/?#]+)/i.exec(registry)?.[1] ?? registry;
  return dockerHub.includes(host.replace(/\/v1\/?$/, "")) ? "registry-1.docker.io" : host;
}

function byKey([left]: [string, unknown], [right]: [string, unknown]): number {
  return left < right ? -1 : 1;
}
