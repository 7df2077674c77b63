import { join } from "node:path";
import type { AddressPool } from "./address_pool.ts";
import type { EngineFolders } from "./engine_folders.ts";

/** Returns the argument that identifies the process of Ostler's own daemon. */
export function configArgument({ configPath }: EngineFolders): string {
  return `--config-file=${configPath}`;
}

/** Returns the arguments of the daemon. */
export function daemonArguments(folders: EngineFolders): string[] {
  return [
    configArgument(folders),
    // The daemon uses the host's containerd if that runs, so it needs containerd namespaces of its own. They are
    // arguments, because the daemon's configuration file does not accept a key `containerd-plugins-namespace`.
    `--containerd-namespace=${folders.cgroup}`,
    `--containerd-plugins-namespace=${folders.cgroup}-plugins`,
  ];
}

/**
 * Returns the content of the daemon's only configuration file; with it, the daemon shares nothing with another engine
 * of this host.
 */
export function daemonConfig(
  folders: EngineFolders,
  pool: AddressPool,
  runtimePath: string | undefined,
): Record<string, unknown> {
  return {
    "data-root": folders.dataRoot,
    "exec-root": join(folders.volatile, "exec"),
    pidfile: join(folders.volatile, "pid"),
    hosts: [`unix://${folders.socketPath}`],
    "cgroup-parent": `/${folders.cgroup}`,
    "exec-opts": ["native.cgroupdriver=cgroupfs"],
    // systemd in a machine must see its own cgroups only; on cgroup v1 it would by default see the host's.
    "default-cgroupns-mode": "private",
    bridge: folders.bridge,
    "default-address-pools": [{ base: pool.cidr, size: 24 }],
    iptables: false,
    ip6tables: false,
    "shutdown-timeout": 5,
    ...(runtimePath === undefined
      ? {}
      : { runtimes: { "ostler-runc": { path: runtimePath } }, "default-runtime": "ostler-runc" }),
  };
}
