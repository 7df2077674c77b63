/** Which process, of which boot and process namespace, answers for something that outlives it. */
export interface Owner {
  readonly bootId: string;
  /** Inode of the process namespace, in which alone the process id means something. */
  readonly namespace: string;
  readonly pid: number;
  /** Clock ticks from boot to its start, so that a process id used again is not taken for it. */
  readonly startedAt: string;
}

/** Where the kernel tells of its processes; tests have another place. */
export const kernelProc = "/proc";

/** The id of this boot of the machine; nothing in memory outlives it. */
export async function currentBootId(proc = kernelProc): Promise<string> {
  return (await Deno.readTextFile(`${proc}/sys/kernel/random/boot_id`)).trim();
}

/** This process as an owner. */
export async function currentOwner(proc = kernelProc): Promise<Owner> {
  const startedAt = await startOf(Deno.pid, proc);
  if (startedAt === undefined) throw new Error(`Cannot read "${proc}/${Deno.pid}/stat" of this process`);
  return { bootId: await currentBootId(proc), namespace: await currentNamespace(proc), pid: Deno.pid, startedAt };
}

/** The owner as one word, which fits a label. */
export function writeOwner({ bootId, namespace, pid, startedAt }: Owner): string {
  return `${bootId}/${namespace}/${pid}/${startedAt}`;
}

/** Reads what `writeOwner` wrote; undefined for anything else. */
export function readOwner(text: string): Owner | undefined {
  const found = /^([0-9a-f-]+)\/(\d+)\/(\d+)\/(\d+)$/.exec(text);
  if (found === null) return undefined;
  const [, bootId = "", namespace = "", pid = "", startedAt = ""] = found;
  return { bootId, namespace, pid: Number(pid), startedAt };
}

/** True when the owner is surely gone; one of another process namespace cannot be seen, and counts as alive. */
export async function isDead(owner: Owner, proc = kernelProc): Promise<boolean> {
  if (owner.bootId !== await currentBootId(proc)) return true;
  if (owner.namespace !== await currentNamespace(proc)) return false;
  return await startOf(owner.pid, proc) !== owner.startedAt;
}

async function currentNamespace(proc: string): Promise<string> {
  return (await Deno.readLink(`${proc}/self/ns/pid`)).replace(/\D/g, "");
}

/** When a process started, in clock ticks since boot; undefined when it is gone, also as a zombie. */
export async function startOf(pid: number, proc = kernelProc): Promise<string | undefined> {
  const stat = await Deno.readTextFile(`${proc}/${pid}/stat`).catch(() => "");
  // The second field is the program's name in parentheses, and may itself hold spaces and parentheses.
  const [state, ...fields] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return state === "Z" || state === "X" ? undefined : fields[18];
}
