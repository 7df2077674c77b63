/** Which CAs machines trust, in words. */
import type { TrustRow } from "../rollout/ca_trust.ts";
import { styled, type Terminal } from "../terminal.ts";
import { titleWidth } from "./pool_story.ts";

/**
 * Returns why it is not certain that all machines of a pool trust exactly the present CAs, most important reason first;
 * none if they do.
 */
export function trustFaults(row: Omit<TrustRow, "pool" | "outdatedTemplates">): string[] {
  const { machines, lacking, unknown, trustingOthers, isPublished, isGiven } = row;
  if (!isGiven) return ["its machines do not get their CAs from Ostler: check them yourself"];
  const of = (count: number): string => `${count} of ${machines} machines`;
  const one = (count: number, single: string, several: string): string => count === 1 ? single : several;
  return [
    ...(isPublished ? [] : ["new machines do not get the present CA bundle yet"]),
    ...(lacking > 0 ? [`${of(lacking)} ${one(lacking, "does", "do")} not trust the present CA bundle yet`] : []),
    ...(unknown > 0
      ? [`${of(unknown)} ${one(unknown, "is", "are")} older than the first CA bundle that Ostler has recorded`]
      : []),
    ...(trustingOthers > 0
      ? [`${of(trustingOthers)} ${one(trustingOthers, "trusts", "trust")} a CA that the present CA bundle lacks`]
      : []),
  ];
}

/** Returns the lines about CAs in a pool's status; none if its machines trust exactly the CAs that it publishes. */
export function trustLines(terminal: Terminal, row: TrustRow | undefined): string[] {
  const faults = row ? trustFaults(row) : [];
  return faults.map((fault, index) => {
    return `${styled(terminal, "bold", (index === 0 ? "CAs" : "").padEnd(titleWidth))}${
      styled(terminal, "yellow", fault)
    }`;
  });
}
