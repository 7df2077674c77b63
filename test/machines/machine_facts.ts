/** The state of a machine, read as its root. */
import assert from "node:assert/strict";
import type { MachineContainer } from "../../deploy/local/machines/machine_container.ts";

/** One file; mode in octal digits, digest SHA-256 in hex. */
export interface FileFact {
  mode: string;
  owner: string;
  digest: string;
}

/** Standard output of a command that succeeds; fails with the output otherwise. */
export async function output(machine: MachineContainer, command: readonly string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await machine.run(command);
  assert.equal(exitCode, 0, `"${command.slice(0, 3).join(" ")}" ended with ${exitCode}: ${stderr.slice(0, 500)}`);
  return stdout;
}

/** Returns the standard output of a shell script; its arguments are $1 and so on. */
export function shell(machine: MachineContainer, script: string, ...args: string[]): Promise<string> {
  return output(machine, ["bash", "-c", script, "test", ...args]);
}

/** Returns the facts of those paths that exist; links are followed. */
export async function fileFacts(machine: MachineContainer, paths: readonly string[]): Promise<Map<string, FileFact>> {
  const script = `for path in "$@"; do
    [[ ! -e $path ]] || echo "$(stat --dereference --format '%a %U:%G' "$path") $(sha256sum <"$path" | head -c 64) $path"
  done`;
  const lines = (await shell(machine, script, ...paths)).trim().split("\n").filter((line) => line !== "");
  return new Map(lines.map((line): [string, FileFact] => {
    const [mode = "", owner = "", digest = "", ...path] = line.split(" ");
    return [path.join(" "), { mode, owner, digest }];
  }));
}

/**
 * Returns the digests, by path, of all files in the folders of settings and installed programs, and of the kubelet's
 * kubeconfig.
 */
export async function configDigests(machine: MachineContainer): Promise<Record<string, string>> {
  const script = "find /etc /opt /root /home /usr/local /var/lib/kubelet/kubeconfig -xdev -type f -print0 | sort -z |" +
    " xargs --null sha256sum";
  const lines = (await shell(machine, script)).trim().split("\n");
  return Object.fromEntries(lines.map((line) => [line.slice(66), line.slice(0, 64)]));
}

/** Properties of a unit, such as `ActiveState`. */
export async function unitProperties(machine: MachineContainer, unit: string): Promise<Record<string, string>> {
  const lines = (await output(machine, ["systemctl", "show", unit])).trim().split("\n");
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]));
}

/** Whether a path exists. */
export async function isThere(machine: MachineContainer, path: string): Promise<boolean> {
  return (await machine.run(["test", "-e", path])).exitCode === 0;
}
