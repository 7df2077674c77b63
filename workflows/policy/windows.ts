/** Maintenance windows as absolute times. */
import type { Rules } from "../contracts.ts";

export interface WindowLook {
  open: boolean;
  /** When the open one ends, and when the next one begins (epoch ms); null for never. */
  closes: number | null;
  opens: number | null;
}

/** Whether something may begin at `now` (epoch ms); windows that touch are one. */
export function lookAtWindows(windows: Rules["windows"], now: number): WindowLook {
  if (windows === null) return { open: true, closes: null, opens: null };
  let closes = now;
  for (const { from, to } of windows) if (from <= closes) closes = Math.max(closes, to);
  const next = windows.filter(({ from }) => from > closes).map(({ from }) => from);
  const opens = next.length > 0 ? Math.min(...next) : null;
  return closes > now ? { open: true, closes, opens } : { open: false, closes: null, opens };
}
