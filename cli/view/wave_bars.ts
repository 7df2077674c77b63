/** Draws the waves of a rollout as bars. */
import { styled, type Terminal } from "../terminal.ts";
import { type RolloutStatus, updatedCount } from "../rollout/pool_row.ts";
import { counted } from "../../workflows/policy/counted.ts";
import { moment } from "./durations.ts";

const shown = 10;
const widest = 30;

/** Returns a bar of `width` cells. */
export function bar(done: number, total: number, width: number): string {
  const filled = total <= 0 ? width : Math.round(width * Math.min(1, Math.max(0, done / total)));
  // A started wave shows at least one cell, and an unfinished wave never shows a full bar.
  const honest = done > 0 && done < total ? Math.min(width - 1, Math.max(1, filled)) : filled;
  return "█".repeat(honest) + "░".repeat(width - honest);
}

/** Returns one line per wave; earlier waves are summed up if there are many. */
export function waveBars(terminal: Terminal, status: RolloutStatus, now: number): string[] {
  const { earlier, total } = waveWindow(status);
  const waves = wavesOf(status, earlier);
  const current = waves.findIndex(({ state }) => state !== "Done");
  const from = Math.max(0, Math.min(current < 0 ? waves.length : current - 2, waves.length - shown));
  const part = waves.slice(from, from + shown);
  const digits = String(total).length;
  const counts = Math.max(...waves.map(({ size }) => String(size).length), 1);
  const lines = part.map((wave) => {
    const of = `${String(wave.done).padStart(counts)}/${String(wave.size).padEnd(counts)}`;
    const filled = styled(terminal, colourOf(wave.state), bar(wave.done, wave.size, widest));
    return `${String(wave.index).padStart(digits)}  ${filled}  ${of}  ${stateText(wave, now)}`;
  });
  const before = earlier + from;
  const left = total - before - part.length;
  return [
    ...(before > 0 ? [`${counted(before, "earlier wave")}, done`] : []),
    ...lines,
    ...(left > 0 ? [`${left} more`] : []),
  ];
}

interface Wave {
  index: number;
  size: number;
  done: number;
  state: string;
  soakUntil?: string | undefined;
}

/**
 * Returns how many waves came before the waves in the status, and how many waves there are in all. A Rollout with many
 * waves lists only those around the current one; its field `wave`, such as "7/100", gives their position.
 */
export function waveWindow({ wave, waves }: RolloutStatus): { earlier: number; total: number } {
  const [, number, all] = /^(\d+)\/(\d+)$/.exec(wave) ?? [];
  const total = Math.max(waves.length, Number(all ?? 0));
  const current = waves.findIndex(({ state }) => state !== "Done");
  const earlier = current < 0 ? total : Number(number ?? 0) - 1 - current;
  return { earlier: Math.max(0, Math.min(earlier, total - waves.length)), total };
}

function wavesOf(status: RolloutStatus, earlier: number): Wave[] {
  const { waves } = status;
  const updated = updatedCount(status);
  return waves.map(({ upTo, state, soakUntil }, index) => {
    // The size of a wave is the difference to `upTo` of the previous wave. If the status leaves earlier waves out, its
    // first wave gets size 0 here, but `waveBars` never shows that wave.
    const before = waves[index - 1]?.upTo ?? (earlier > 0 ? upTo : 0);
    const size = Math.max(0, upTo - before);
    // A wave that passed stays full, even if one of its machines is being repaired now.
    const done = state === "Done" ? size : Math.min(size, Math.max(0, updated - before));
    return { index: earlier + index + 1, size, done, state, soakUntil };
  });
}

function stateText({ state, soakUntil }: Wave, now: number): string {
  if (state === "Soaking" && soakUntil) return `soaking until ${moment(soakUntil, now)}`;
  return state === "Gates" ? "evaluating gates" : state.toLowerCase();
}

function colourOf(state: string): "green" | "cyan" | "yellow" | "gray" {
  if (state === "Done") return "green";
  if (state === "Waiting") return "gray";
  return state === "Rolling" ? "cyan" : "yellow";
}
