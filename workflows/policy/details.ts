/** The live page of a run in the web UI: Markdown that answers what, since when, until when, and what to do. */
import type { Progress } from "../contracts.ts";

/** Renders the page; it stays under 2 KB whatever the size of the pool. */
export function details(pool: { namespace: string; name: string }, progress: Progress): string {
  return [
    `## ${progress.phase}: ${plain(progress.message)}`,
    `**Pool** ${pool.namespace}/${pool.name}`,
    ...target(progress),
    ...machines(progress),
    ...underway(progress),
    `**Since** \`${progress.since}\`${progress.until ? `, **until** \`${progress.until}\`` : ""}`,
    ...advice(progress),
  ].join("\n\n").slice(0, 2000);
}

// The web UI takes ":31" for a directive of its Markdown and drops the paragraph it stands in.
function plain(text: string): string {
  return text.replaceAll(/:(?=\w)/g, "\\:");
}

function target(progress: Progress): string[] {
  if (!progress.target) return [];
  const { image, kubelet, revision, generation, configDigest } = progress.target;
  return [
    `**Target** image \`${image}\`, kubelet \`${kubelet}\`, revision ${revision} (generation ${generation}), ` +
    `config \`${configDigest.slice(0, 12)}\``,
  ];
}

function machines(progress: Progress): string[] {
  if (!progress.counts) return [];
  const { desired, updated, ready, old, leaving } = progress.counts;
  return [`**Machines** ${updated} of ${desired} updated, ${ready} ready, ${old} old, ${leaving} leaving`];
}

function underway(progress: Progress): string[] {
  if (!progress.replacement) return [];
  const { machine, victim, step, until } = progress.replacement;
  return [`**Now** ${step}: in \`${machine}\`${victim ? `, out \`${victim}\`` : ""}, deadline \`${until}\``];
}

function advice(progress: Progress): string[] {
  if (progress.phase === "Halted") {
    return ["**You can** change the MachineDeployment or its profile, or send the update `retry`."];
  }
  if (progress.paused) return ["**Paused.** Send the update `resume` to go on; machines under way are finished."];
  return progress.phase === "Rolling" ? ["**You can** send the update `pause`."] : [];
}
