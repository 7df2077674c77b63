import type { OsProfile } from "../../profiles/mod.ts";
import type { Kind, Piece } from "./piece.ts";

/** A finding of a validator. */
export interface Fault {
  piece: Piece;
  /** Position of the finding, such as a line, if the validator reports one. */
  place?: string | number;
  message: string;
}

/** An external tool, and what it validates. */
export interface Judge {
  /** Text that follows the profile's name in a test title, as in "osp-ubuntu: …". */
  promise: string;
  judges(kind: Kind): boolean;
  /** Set when the tool applies only to profiles with this provisioning utility. */
  utility?: OsProfile["provisioningUtility"];
  /** Returns why the tool cannot run on this computer; undefined if it can. */
  missing(): Promise<string | undefined>;
  judge(pieces: readonly Piece[]): Promise<Fault[]>;
}

/** Returns each finding once, with its position and the machines of the profile that have it. */
export function tellFaults(profile: string, faults: readonly Fault[]): string {
  const told = Map.groupBy(faults, ({ piece: { path }, place, message }) => {
    return `${path}${place === undefined ? "" : `:${place}`}: ${message}`;
  });
  return [...told].map(([what, alike]) => {
    const seenOn = alike.flatMap(({ piece }) => piece.seenOn).filter((machine) => machine.profile === profile);
    const labels = [...new Set(seenOn.map(({ label }) => label))];
    return `${what}\n    ${profile} on ${labels[0]}${labels.length > 1 ? ` and ${labels.length - 1} more` : ""}`;
  }).join("\n");
}
