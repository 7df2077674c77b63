/** The process that owns something that may outlive it, identified across reboots and process namespaces. */
export interface Owner {
  readonly bootId: string;
  /** Inode of the process namespace to which the process id belongs. */
  readonly namespace: string;
  readonly pid: number;
  /** Clock ticks from boot to the start of the process, to detect a reused process id. */
  readonly startedAt: string;
}

/** Mount point of the kernel's process information; tests use another path. */
export const kernelProc = "/proc";

/** Returns the id of the current boot. */
export async function currentBootId(proc = kernelProc): Promise<string> {
  return (await Deno.readTextFile(`${proc}/sys/kernel/random/boot_id`)).trim();
}

/** Returns this process as an owner. */
export async function currentOwner(proc = kernelProc): Promise<Owner> {
  const startedAt = await startOf(Deno.pid, proc);
  if (startedAt === undefined) throw new Error(`Failed to read "${proc}/${Deno.pid}/stat" of this process`);
  return { bootId: await currentBootId(proc), namespace: await currentNamespace(proc), pid: Deno.pid, startedAt };
}

/** Returns the owner as one word, which is valid as a label. */
export function writeOwner({ bootId, namespace, pid, startedAt }: Owner): string {
  return `${bootId}/${namespace}/${pid}/${startedAt}`;
}

/** Parses the output of `writeOwner`; undefined for any other text. */
export function readOwner(text: string): Owner | undefined {
  const found = /^([0-9a-f-]+)\/(\d+)\/(\d+)\/(\d+)$/.exec(text);
  if (found === null) return undefined;
  const [, bootId = "", namespace = "", pid = "", startedAt = ""] = found;
  return { bootId, namespace, pid: Number(pid), startedAt };
}

/**
 * Returns whether the owner has certainly ended; an owner in another process namespace is not visible and counts as
 * alive.
 */
export async function isDead(owner: Owner, proc = kernelProc): Promise<boolean> {
  if (owner.bootId !== await currentBootId(proc)) return true;
  if (owner.namespace !== await currentNamespace(proc)) return false;
  return await startOf(owner.pid, proc) !== owner.startedAt;
}

async function currentNamespace(proc: string): Promise<string> {
  return (await Deno.readLink(`${proc}/self/ns/pid`)).replace(/\D/g, "");
}

/** Returns the start time of a process in clock ticks since boot; undefined if it has ended or is a zombie. */
export async function startOf(pid: number, proc = kernelProc): Promise<string | undefined> {
  const stat = await Deno.readTextFile(`${proc}/${pid}/stat`).catch(() => "");
  // The second field is the program's name in parentheses, which may contain spaces and parentheses.
  const [state, ...fields] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return state === "Z" || state === "X" ? undefined : fields[18];
}
