import { join } from "node:path";
import type { AddressPool } from "./address_pool.ts";
import type { EngineFolders } from "./engine_folders.ts";

/** The argument by which a daemon of ours is known among all processes. */
export function configArgument({ configPath }: EngineFolders): string {
  return `--config-file=${configPath}`;
}

/** The daemon's arguments. */
export function daemonArguments(folders: EngineFolders): string[] {
  return [
    configArgument(folders),
    // It uses a containerd that serves the whole host where there is one, so its names must be ours. As arguments,
    // because the second one has another name in the file, under which the daemon refuses it.
    `--containerd-namespace=${folders.cgroup}`,
    `--containerd-plugins-namespace=${folders.cgroup}-plugins`,
  ];
}

/** The daemon's configuration file; it reads no other, and shares nothing with another engine of this host. */
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
    // systemd in a machine must see its own cgroups only; on cgroup v1 the default is the host's.
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
