import type { PendingChange } from "../rollout/pending_change.ts";
import type { Terminal } from "../terminal.ts";
import { colouredPatch } from "./coloured_patch.ts";
import { plainTable } from "./plain_table.ts";
import { printable, printableLines } from "./printable.ts";

/** Returns whether a field of the template, or the config of machines, differs. */
export function isChange({ changes, before, after }: PendingChange): boolean {
  return changes.length > 0 || isOther(before?.configDigest ?? "", after.configDigest);
}

/** Returns a pending change as text: image, kubelet and config in short, then the difference by field. */
export function changeText(terminal: Terminal, change: PendingChange): string {
  const { before, after, patch } = change;
  if (before === undefined) return `Nothing to compare with: the last good template is not known\n`;
  if (!isChange(change)) return printableLines(`No change: ${after.title} equals ${before.title}\n`);
  const rows: [string, string, string][] = [
    ["image", before.image, after.image],
    ["kubelet", before.kubelet, after.kubelet],
    ["config", before.configDigest.slice(0, 12), after.configDigest.slice(0, 12)],
  ];
  const lines = rows.filter(([, one, other]) => isOther(one, other)).map((
    [what, one, other],
  ) => [what, printable(`${one} → ${other}`, Infinity)]);
  const head = plainTable(lines);
  return [head, colouredPatch(terminal, printableLines(patch))].filter(Boolean).join("\n");
}

// Returns whether two values are known and differ; "" is an unknown value.
function isOther(one: string, other: string): boolean {
  return one !== other && one !== "" && other !== "";
}
