/** A notice in words, and in the JSON that a webhook wants. */
import type { Notice, NoticeKind, PoolRef } from "../../workflows/contracts/mod.ts";

const said: Record<NoticeKind, string> = {
  Halted: "is halted and waits for a person",
  RollingBack: "goes back to the last good revision",
  AwaitingApproval: "waits for somebody to approve",
  Converged: "has converged",
  RolledBack: "went back to the last good revision",
  Aborted: "was aborted",
};

/** As Slack, Mattermost, Rocket.Chat and others take it. */
export const usualTemplate = { text: "{{text}}" };

/** What a template may name, by its name in double braces. */
export function wordsOf(
  pool: PoolRef,
  { kind, reason, message, revision, image, at, id }: Notice,
): Record<string, string> {
  const { cluster = "", namespace, name } = pool;
  const where = cluster === "" ? `${namespace}/${name}` : `${namespace}/${name} of ${cluster}`;
  const why = [reason, message].filter(Boolean).join(": ");
  const text = `Rollout ${where} ${said[kind]}${why ? ` (${why})` : ""}`;
  return { text, kind, cluster, namespace, pool: name, reason, message, revision, image, at, id };
}

/**
 * A template with its names filled in, in each of its texts: what is filled in can end no text and begin no field. And
 * none can call for everybody in a channel: `&`, `<` and `>` are written as Slack wants them.
 */
export function filledIn(template: unknown, words: Readonly<Record<string, string>>): unknown {
  if (typeof template === "string") {
    return template.replaceAll(/\{\{(\w+)\}\}/g, (whole, name: string) => escaped(words[name] ?? whole));
  }
  if (Array.isArray(template)) return template.map((each) => filledIn(each, words));
  if (typeof template !== "object" || template === null) return template;
  return Object.fromEntries(Object.entries(template).map(([key, value]) => [key, filledIn(value, words)]));
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
