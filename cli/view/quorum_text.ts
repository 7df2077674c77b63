/** The votes of an etcd, and how many of them may be lost. */
import { styled, type Terminal } from "../terminal.ts";

/** Numbers of voters, of healthy ones, and of votes that a decision needs (0 if the members are unknown). */
export interface Votes {
  voters: number;
  healthy: number;
  quorum: number;
}

const words = ["none", "one", "two", "three", "four"];

/** Returns the votes in words; red if the quorum is lost, yellow if the next failure loses it. */
export function quorumText(terminal: Terminal, { voters, healthy, quorum }: Votes, at = ""): string {
  if (quorum === 0) return `members are unknown${at}`;
  const counts = `${healthy} of ${voters} voting, quorum ${quorum}`;
  const beyond = healthy - quorum;
  if (beyond < 0) {
    const remedy = 'see "When quorum is lost" in docs/how-to/control-planes.md';
    return styled(terminal, "red", `${counts}: etcd has lost its quorum${at}; ${remedy}`);
  }
  const may = `${counts}, ${words[beyond] ?? beyond} may fail${at}`;
  return beyond === 0 ? styled(terminal, "yellow", may) : may;
}
