/** How busy the cores are, so that idle ones are visible. */

/** The work of all cores since the start of the host, in ticks. */
export interface CoreTime {
  busy: number;
  idle: number;
}

/**
 * Returns the busy and idle time of the host's cores; undefined if the host does not report them. A shell reads
 * /proc/stat, because Deno denies /proc without all permissions.
 */
export async function coreTime(): Promise<CoreTime | undefined> {
  const args = ["-c", `read -r line < /proc/stat && echo "$line"`];
  const { stdout } = await new Deno.Command("/bin/sh", { args, stderr: "null" }).output();
  return parseCoreTime(new TextDecoder().decode(stdout));
}

/** Parses the first line of /proc/stat: https://man7.org/linux/man-pages/man5/proc_stat.5.html */
export function parseCoreTime(line: string): CoreTime | undefined {
  const [name, ...fields] = line.trim().split(/\s+/);
  if (name !== "cpu") return undefined;
  const [user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, softirq = 0, steal = 0] = fields.map(Number);
  return { busy: user + nice + system + irq + softirq + steal, idle: idle + wait };
}

/** How many of the cores were busy between two reads, as text. */
export function busyBetween(from: CoreTime | undefined, to: CoreTime | undefined, cores: number): string {
  if (from === undefined || to === undefined) return "";
  const [busy, idle] = [to.busy - from.busy, to.idle - from.idle];
  return busy + idle === 0 ? "" : `${(cores * busy / (busy + idle)).toFixed(1)} of ${cores} cores busy`;
}

/** Sum of the busy seconds of all cores between two snapshots; undefined if the host does not report CPU times. */
export function coreSecondsBetween(
  from: CoreTime | undefined,
  to: CoreTime | undefined,
  span: { seconds: number; cores: number },
): number | undefined {
  if (from === undefined || to === undefined) return undefined;
  const [busy, idle] = [to.busy - from.busy, to.idle - from.idle];
  return busy + idle === 0 ? undefined : span.seconds * span.cores * busy / (busy + idle);
}

/**
 * CPU seconds of a shell's children, from the output of its `times`: the second line has their user and system time.
 * https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html#times
 */
export function parseTimes(text: string): number | undefined {
  const [, ofChildren = ""] = text.trim().split("\n");
  const spans = [...ofChildren.matchAll(/(\d+)m([\d.]+)s/g)].map(([, minutes, seconds]) => {
    return Number(minutes) * 60 + Number(seconds);
  });
  return spans.length === 2 ? (spans[0] ?? 0) + (spans[1] ?? 0) : undefined;
}
