/** The votes of an etcd, with the remedy of a lost quorum. */
import { type Votes, votesText } from "../../workflows/status/page/votes.ts";
import { styled, type Terminal } from "../terminal.ts";

/** Returns the votes in words and their source `at`: red if the quorum is lost, yellow if one failure would lose it. */
export function quorumText(terminal: Terminal, votes: Votes, at = ""): string {
  const { state, text } = votesText(votes);
  const remedy = state === "Lost" ? '; see "When quorum is lost" in docs/how-to/control-planes.md' : "";
  const whole = `${text}${at}${remedy}`;
  if (state === "Lost") return styled(terminal, "red", whole);
  return state === "Critical" ? styled(terminal, "yellow", whole) : whole;
}
