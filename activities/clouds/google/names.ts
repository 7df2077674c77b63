/**
 * Names of machines that were ordered. Google takes a name once, and shows it from the first moment, wherever the machine
 * goes: so the name itself says by which token it was ordered. Ends of names are hashes, as anybody may name a machine.
 */
import { createHash } from "node:crypto";
import { refused } from "../../failures.ts";

const longest = 63;
const hashLength = 8;

/** The name of the one machine of a group for a token; refused for a token that fits into no name. */
export function nameOfOrder(group: string, token: string): string {
  const name = `${token}-${endOf("order", group, token)}`;
  if (/^[a-z][-a-z0-9]*$/.test(token) && name.length <= longest) return name;
  const most = longest - hashLength - 1;
  const state =
    `its name would begin with "${token}"; expected at most ${most} characters of a-z, 0-9 and "-", a letter first`;
  throw refused("CloudRefused", `Failed to order an instance of "${group}": ${state}`);
}

/** The token in a name; undefined for one that was not ordered from this group. */
export function tokenIn(group: string, name: string): string | undefined {
  const token = name.slice(0, -hashLength - 1);
  return token !== "" && name === `${token}-${endOf("order", group, token)}` ? token : undefined;
}

/** The name of the one machine that comes when another goes, and was ordered by nobody. */
export function nameOfSubstitute(group: string, { base, gone }: { base: string; gone: string }): string {
  // A base may say how a group is to count its machines.
  const plain = base.replace(/-#.*$/, "").slice(0, longest - hashLength - 1).replace(/-+$/, "") || "instance";
  return `${plain}-${endOf("substitute", group, gone)}`;
}

function endOf(...of: string[]): string {
  return createHash("sha256").update(JSON.stringify(of)).digest("hex").slice(0, hashLength);
}
