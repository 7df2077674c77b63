/** `ostler explain NAMESPACE/NAME` for a pool: its phase, what it waits for, and its last Events. */
import type { World } from "../connect/world.ts";
import { moment } from "../view/durations.ts";
import { conditionOf, type PoolRow, type RolloutStatus } from "./pool_row.ts";
import { type Line, Story } from "./story.ts";

/** The facts about a pool, in one paragraph and as data. */
interface PoolText {
  text: string;
  pool: PoolRow["pool"];
  status?: unknown;
  events: { at: string; message: string }[];
}

/** How many Events and machines the paragraph names. */
const shown = 5;

/** Returns the state of a pool as a paragraph; reads only Kubernetes, so it works while Temporal is down. */
export async function explainPool(world: World, { pool, raw, status }: PoolRow): Promise<PoolText> {
  const now = world.now();
  const events = await new Story(world, { pool, engine: undefined, tail: shown, from: 0, waits: false }).look();
  const text = [...stateText({ pool, status }), ...eventText(events, now)].filter(Boolean).join(" ");
  const told = events.map(({ at, message }) => ({ at: new Date(at).toISOString(), message }));
  return { text, pool, ...(raw === undefined ? {} : { status: raw }), events: told };
}

function stateText({ pool, status }: { pool: PoolRow["pool"]; status: RolloutStatus | undefined }): string[] {
  const name = `Pool "${pool.namespace}/${pool.name}"`;
  if (status === undefined) {
    return [`${name} has no rollout yet; Ostler's controller starts a rollout as soon as the controller runs.`];
  }
  const { phase, reason, message, updated } = status;
  const blocked = conditionOf(status, "Blocked");
  const isOther = blocked?.status === "True" && blocked.message !== message;
  return [
    `${name} is in phase ${phase}${reason === phase ? "" : ` (${reason})`}: ${ended(message)}`,
    updated === "" ? "" : `${updated.replace("/", " of ")} machines are updated.`,
    isOther ? `No machine starts now (${blocked.reason}): ${ended(blocked.message)}` : "",
    ...status.underway.slice(0, shown).map(underwayText),
    status.underway.length > shown ? `${status.underway.length - shown} more machines are in progress.` : "",
  ];
}

function underwayText({ machine, step, waitsFor, blockers: [blocker] }: RolloutStatus["underway"][number]): string {
  const waits = blocker ? `pod ${blocker.pod} is not evicted: ${blocker.why}` : waitsFor;
  return `Machine "${machine}" is in step ${step}${waits === "" ? "" : `, which waits: ${waits.replace(/\.$/, "")}`}.`;
}

function eventText(events: readonly Line[], now: number): string[] {
  if (events.length === 0) return ["No Events are left: by default Kubernetes keeps them for an hour."];
  return [
    `Last Events: ${
      events.map(({ at, message }) => `${moment(new Date(at).toISOString(), now)}: ${message.replace(/\.$/, "")}`).join(
        "; ",
      )
    }.`,
  ];
}

function ended(sentence: string): string {
  return sentence.endsWith(".") ? sentence : `${sentence}.`;
}
