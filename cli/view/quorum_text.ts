/** Describes the votes of an etcd cluster, and names the remedy if the quorum is lost. */
import { type Votes, votesText } from "../../workflows/status/page/votes.ts";
import { styled, type Terminal } from "../terminal.ts";

/**
 * Returns the votes in words, followed by `at`, which states who reported them: red if the quorum is lost, yellow if
 * the next failure of a member would lose it.
 */
export function quorumText(terminal: Terminal, votes: Votes, at = ""): string {
  const { state, text } = votesText(votes);
  const remedy = state === "Lost" ? '; see "When quorum is lost" in docs/how-to/control-planes.md' : "";
  const whole = `${text}${at}${remedy}`;
  if (state === "Lost") return styled(terminal, "red", whole);
  return state === "Critical" ? styled(terminal, "yellow", whole) : whole;
}
