import type { OsProfile } from "../../profiles/mod.ts";
import type { Kind, Piece } from "./piece.ts";

/** Something that a judge does not accept. */
export interface Fault {
  piece: Piece;
  /** Where it is, such as a line, as far as the judge tells. */
  place?: string | number;
  message: string;
}

/** Other people's tool, and what it decides about. */
export interface Judge {
  /** Ends the sentence "osp-ubuntu: …". */
  promise: string;
  judges(kind: Kind): boolean;
  /** Set where only profiles of one utility have anything for it. */
  utility?: OsProfile["provisioningUtility"];
  /** Why it cannot judge on this computer; undefined where it can. */
  missing(): Promise<string | undefined>;
  judge(pieces: readonly Piece[]): Promise<Fault[]>;
}

/** Says once of each fault what it is, where it is, and which machines of the profile have it. */
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
