/**
 * Names of ordered machines. Google accepts a name once, and reports it at every stage of the machine, so the name
 * itself contains the token of the order. Each name ends in a hash, because users can create machines with any name.
 */
import { createHash } from "node:crypto";
import { refused } from "../../failures.ts";

const longest = 63;
const hashLength = 8;

/** Returns the name of a group's machine for a token. Throws Refused for a token that does not fit in a name. */
export function nameOfOrder(group: string, token: string): string {
  const name = `${token}-${endOf("order", group, token)}`;
  if (/^[a-z][-a-z0-9]*$/.test(token) && name.length <= longest) return name;
  const most = longest - hashLength - 1;
  const state =
    `its name would begin with "${token}"; expected at most ${most} characters of a-z, 0-9 and "-", a letter first`;
  throw refused("CloudRefused", `Failed to order an instance of "${group}": ${state}`);
}

/** Returns the token in a name; undefined for a machine that was not ordered from this group. */
export function tokenIn(group: string, name: string): string | undefined {
  const token = name.slice(0, -hashLength - 1);
  return token !== "" && name === `${token}-${endOf("order", group, token)}` ? token : undefined;
}

/**
 * Returns the name of the machine that takes the place of the removed machine `gone` in the group, without an order.
 */
export function nameOfSubstitute(group: string, { base, gone }: { base: string; gone: string }): string {
  // A base name may end in the pattern of a counter, such as "-####".
  const plain = base.replace(/-#.*$/, "").slice(0, longest - hashLength - 1).replace(/-+$/, "") || "instance";
  return `${plain}-${endOf("substitute", group, gone)}`;
}

function endOf(...of: string[]): string {
  return createHash("sha256").update(JSON.stringify(of)).digest("hex").slice(0, hashLength);
}
