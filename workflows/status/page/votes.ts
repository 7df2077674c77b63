/** The votes of an etcd cluster in words, for the page in the web UI and for the command line. */

/** Number of voters, of healthy voters, and of votes that a quorum needs (0 if the members are unknown). */
export interface Votes {
  voters: number;
  healthy: number;
  quorum: number;
}

/** Lost: etcd has no quorum. Critical: one more failure loses the quorum. Well: at least one more member may fail. */
type VotesState = "Unknown" | "Lost" | "Critical" | "Well";

const words = ["none", "one", "two", "three", "four"];

/** Returns the votes in words, with the number of members that may fail before the quorum is lost. */
export function votesText({ voters, healthy, quorum }: Votes): { state: VotesState; text: string } {
  if (quorum === 0) return { state: "Unknown", text: "members are unknown" };
  const counts = `${healthy} of ${voters} voting, quorum ${quorum}`;
  const beyond = healthy - quorum;
  if (beyond < 0) return { state: "Lost", text: `${counts}: etcd has lost its quorum` };
  return { state: beyond === 0 ? "Critical" : "Well", text: `${counts}, ${words[beyond] ?? beyond} may fail` };
}
