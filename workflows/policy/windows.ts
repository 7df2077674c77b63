/** Maintenance windows as absolute times. */
import type { Rules } from "../contracts/mod.ts";

export interface WindowLook {
  open: boolean;
  /** When the open one began and ends, and when the next one begins (epoch ms); null for never. */
  opened: number | null;
  closes: number | null;
  opens: number | null;
}

/** Whether something may begin at `now` (epoch ms); windows that touch are one. */
export function lookAtWindows(windows: Rules["windows"], now: number): WindowLook {
  if (windows === null) return { open: true, opened: null, closes: null, opens: null };
  let [opened, closes] = [-Infinity, -Infinity];
  for (const { from, to } of windows) {
    if (from <= closes) closes = Math.max(closes, to);
    else if (from <= now) [opened, closes] = [from, to];
  }
  const next = windows.filter(({ from }) => from > Math.max(now, closes)).map(({ from }) => from);
  const opens = next.length > 0 ? Math.min(...next) : null;
  return closes > now ? { open: true, opened, closes, opens } : { open: false, opened: null, closes: null, opens };
}
