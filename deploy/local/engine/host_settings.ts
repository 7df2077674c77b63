import { join } from "node:path";
import { processesWhere } from "./daemon_processes.ts";
import type { HostShell } from "./host_shell.ts";
import { currentBootId, kernelProc } from "./owner.ts";
import { ignoreAbsence, writeWhole } from "./run_record.ts";

/** Kernel settings that all containers share, by path below /proc/sys. */
export type HostSettings = Readonly<Record<string, string>>;

/**
 * Settings that a kubelet, a machine's systemd and a Docker daemon change; those that this kernel lacks are skipped.
 */
const changedByMachines = [
  ...["kernel/panic", "kernel/panic_on_oops", "vm/overcommit_memory", "vm/panic_on_oom"],
  ...["kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes", "kernel/keys/maxkeys", "kernel/keys/maxbytes"],
  ...["fs/inotify/max_user_watches", "fs/inotify/max_user_instances", "fs/file-max", "fs/nr_open"],
];
const forwarding = "net/ipv4/ip_forward";

interface SavedSettings {
  readonly bootId: string;
  readonly settings: HostSettings;
}

/** The settings that this host had before its first machine, in a file that survives a crash. */
export class SavedHostSettings {
  readonly #path: string;
  readonly #proc: string;

  constructor(state: string, proc = kernelProc) {
    this.#proc = proc;
    this.#path = join(state, "host_settings.json");
  }

  /**
   * Saves the current settings. If settings were already saved since the last boot, keeps the saved settings, because
   * machines may have changed the current settings by now.
   */
  async save(): Promise<void> {
    if (await this.#read() !== undefined) return;
    const saved: SavedSettings = { bootId: await currentBootId(this.#proc), settings: await readSettings(this.#proc) };
    await writeWhole(this.#path, JSON.stringify(saved, null, 2));
  }

  /** Restores settings that differ from the saved ones, and deletes the file; returns the restored settings. */
  async restore(write: SettingsWriter): Promise<HostSettings> {
    const saved = await this.#read();
    const changed = saved === undefined ? {} : await changedSince(saved.settings, this.#proc);
    if (Object.keys(changed).length > 0) await write(changed);
    await Deno.remove(this.#path).catch(ignoreAbsence);
    return changed;
  }

  async #read(): Promise<SavedSettings | undefined> {
    const text = await Deno.readTextFile(this.#path).catch(ignoreAbsence);
    const saved = text === undefined ? undefined : JSON.parse(text) as SavedSettings;
    // A reboot resets all settings, so saved values of another boot are ignored.
    return saved?.bootId === await currentBootId(this.#proc) ? saved : undefined;
  }
}

type SettingsWriter = (settings: HostSettings) => Promise<void>;

/** Writes to the kernel directly, as root. */
export const writeAsRoot: SettingsWriter = async (settings) => {
  for (const [name, value] of Object.entries(settings)) await Deno.writeTextFile(`/proc/sys/${name}`, value);
};

/** Returns a writer for users other than root, which writes from a privileged container. */
export function writeThrough(shell: HostShell): SettingsWriter {
  return async (settings) => {
    const lines = Object.entries(settings).map(([name, value]) => `echo '${value}' > /proc/sys/${name}`);
    await shell(`set -e; ${lines.join("; ")}`);
  };
}

async function readSettings(proc: string): Promise<HostSettings> {
  const values = await Promise.all([...changedByMachines, forwarding].map(async (name) => {
    const value = await Deno.readTextFile(`${proc}/sys/${name}`).catch(() => undefined);
    return [name, value?.trim()] as const;
  }));
  return Object.fromEntries(values.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

async function changedSince(settings: HostSettings, proc: string): Promise<HostSettings> {
  const now = await readSettings(proc);
  const changed = Object.entries(settings).filter(([name, value]) => now[name] !== undefined && now[name] !== value);
  // IP forwarding is not restored while any Docker engine runs, because the engine needs forwarding, regardless of
  // which process enabled it.
  const keepsForwarding = await isAnyEngineUp(proc);
  return Object.fromEntries(changed.filter(([name]) => name !== forwarding || !keepsForwarding));
}

async function isAnyEngineUp(proc: string): Promise<boolean> {
  const networkOf = (pid: number | "self"): Promise<string> => Deno.readLink(`${proc}/${pid}/ns/net`).catch(() => "");
  const engines = await processesWhere("comm", (text) => text.trim() === "dockerd", proc);
  // Engines in other network namespaces do not count, because each namespace has its own forwarding setting.
  const networks = await Promise.all(engines.map(networkOf));
  return networks.includes(await networkOf("self"));
}
