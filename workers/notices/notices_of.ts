/** The notifications of a Rollout: about its phase, if that needs attention, and about the end of the last rollout. */
import { createHash } from "node:crypto";
import { z } from "zod";
import type { RolloutObject } from "../../activities/kube/resources.ts";
import type { Notice, NoticeKind } from "../../workflows/contracts/mod.ts";
import { counted } from "../../workflows/policy/counted.ts";

/** Maximum characters of a text. */
const longest = 1_000;
/**
 * Reasons with which one rollout may halt several times, each time because of other machines; the message names these
 * machines before its first colon.
 */
const namedByMachine = ["GateInconclusive", "JoinAttemptsExhausted"];

const word = z.string().catch("");
const clipped = word.transform((text) => text.slice(0, longest));
const Ended = z.object({
  ...{ startedAt: z.string(), endedAt: z.string(), outcome: z.enum(["Converged", "RolledBack", "Aborted"]) },
  ...{ revision: clipped, image: clipped, reason: clipped },
  ...{ machines: z.number().catch(0), failed: z.number().catch(0), seconds: z.number().catch(0) },
});
const Standing = z.object({
  ...{ phase: word, reason: clipped, message: clipped, revision: clipped, image: clipped, wave: word },
  plan: z.object({ hash: word }).nullish().catch(null),
  quarantine: z.array(z.object({ since: z.number().catch(0) })).catch([]),
});
type Standing = z.infer<typeof Standing>;

/** Returns up to two notifications; unreadable parts are left out. */
export function noticesOf({ metadata: { uid = "" }, status }: RolloutObject): Notice[] {
  const found = [standingNotice(status), endingNotice(status?.history?.at(-1))];
  return found.filter((each) => each !== undefined).map(({ key, ...notice }) => {
    return {
      id: createHash("sha256").update(JSON.stringify([uid, notice.kind, key])).digest("hex").slice(0, 20),
      ...notice,
    };
  });
}

/** A notification with the key that distinguishes it from other notifications of the same kind. */
type Keyed = Omit<Notice, "id"> & { key: unknown[] };

function standingNotice(status: RolloutObject["status"]): Keyed | undefined {
  const { phase, reason, message, revision, image, wave, plan, quarantine } = Standing.parse(status ?? {});
  const conditions = status?.conditions ?? [];
  const blocked = conditions.find(({ type, status }) => type === "Blocked" && status === "True");
  const kind = standingKind(phase, `${blocked?.["reason"] ?? ""}`);
  // A user skipped the remaining machines on purpose, and needs no notification of it.
  if (!kind || reason === "OnlySkippedRemain") return undefined;
  const times = conditions.flatMap(({ lastTransitionTime }) => lastTransitionTime ?? []);
  // A halted rollout is checked every ten minutes. The same result again is not a new notification, but a later failure
  // of the change, or a halt after the end of another rollout, is a new one.
  const failed = Math.max(0, ...quarantine.map(({ since }) => since));
  const ended = status?.history?.at(-1)?.["endedAt"];
  const keys = {
    Halted: [
      revision,
      reason,
      failed,
      ...(ended === undefined ? [] : [ended]),
      ...(namedByMachine.includes(reason) ? [message.split(": ", 1)[0]] : []),
    ],
    RollingBack: [failed],
    AwaitingApproval: [plan?.hash ?? "", wave],
  };
  const key = keys[kind];
  return { kind, at: times.sort().at(-1) ?? "", reason, message, revision, image, key };
}

type StandingKind = Extract<NoticeKind, "Halted" | "RollingBack" | "AwaitingApproval">;

function standingKind(phase: Standing["phase"], blocked: string): StandingKind | undefined {
  if (phase === "Halted" || phase === "RollingBack") return phase;
  return blocked === "AwaitingApproval" ? blocked : undefined;
}

function endingNotice(entry: unknown): Keyed | undefined {
  const { data } = Ended.safeParse(entry);
  if (!data) return undefined;
  const { startedAt, endedAt, outcome, machines, failed, seconds, reason, ...change } = data;
  const took = counted(Math.round(seconds / 60), "minute");
  const message = `${counted(machines, "machine")} joined, ${failed} failed, in ${took}`;
  return { kind: outcome, at: endedAt, reason, message, ...change, key: [startedAt, outcome] };
}
