/** Ranges of IPv4 addresses, as "10.0.0.0/8" has them. */

/** Gives the ranges that together are one range without others, largest first. */
export function without(range: string, excepts: readonly string[]): string[] {
  const [except, ...others] = excepts;
  if (except === undefined) return [range];
  return minus(range, except).flatMap((rest) => without(rest, others));
}

function minus(range: string, except: string): string[] {
  if (contains(except, range)) return [];
  if (!contains(range, except)) return [range];
  return halves(range).flatMap((half) => minus(half, except));
}

/** Whether all of a range lies within another. */
export function contains(outer: string, inner: string): boolean {
  const [wide, narrow] = [parsed(outer), parsed(inner)];
  const size = 2 ** (32 - wide.bits);
  return wide.bits <= narrow.bits && Math.floor(wide.start / size) === Math.floor(narrow.start / size);
}

function halves(range: string): string[] {
  const { start, bits } = parsed(range);
  const first = start - start % 2 ** (32 - bits);
  return [first, first + 2 ** (31 - bits)].map((at) => `${text(at)}/${bits + 1}`);
}

function parsed(range: string): { start: number; bits: number } {
  const [address = "", bits = "32"] = range.split("/");
  const start = address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
  return { start, bits: Number(bits) };
}

function text(start: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(start / 2 ** shift) % 256).join(".");
}
