import type { PoolRow } from "../rollout/pool_row.ts";
import { calledAs, type Terminal } from "../terminal.ts";

/** What a person can say to a rollout that waits for one, as commands; nothing where it goes on by itself. */
export function thingsToDo(terminal: Terminal, { pool, status }: PoolRow): string[] {
  if (status === undefined) return [];
  const { phase, paused, plan, blockedReason, quarantine, waves } = status;
  const say = (name: string, more: string, what: string): string =>
    `${calledAs(terminal)} ${name} -n ${pool.namespace} ${pool.name}${more}   ${what}`;
  const halted = phase === "Halted" || (quarantine.length > 0 && blockedReason === "Quarantined");
  return [
    ...(paused ? [say("resume", "", "goes on")] : []),
    ...(plan && !plan.approved && blockedReason !== "" && /approval/i.test(blockedReason)
      ? [say("plan", "", "shows what would be done"), say("approve", ` --plan ${plan.hash}`, "lets it begin")]
      : []),
    ...(halted ? [say("retry", "", "tries again"), say("abort", "", "goes back to what was last good")] : []),
    ...(blockedReason === "EtcdInDoubt" ? [say("promote", "", "goes on although that is in doubt, upon you")] : []),
    ...(waves.some(({ state }) => state === "Soaking") ? [say("promote", "", "ends the soak now")] : []),
  ];
}
