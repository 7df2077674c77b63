/** The live page of a run in the web UI: Markdown that answers what, how far, since when, until when, and what to do. */
import type { Progress } from "../../contracts/mod.ts";
import { advice } from "./advice.ts";
import { decisions, etcd, numbers, target, underway, waves } from "./parts.ts";
import { moment, plain } from "./text.ts";

/** Bytes of a page; what does not fit is left out. */
const heaviest = 4000;
/** The web UI shows a page by its URL, and proxies commonly refuse one of more than 8 KB. */
const longestUrl = 7000;

// The web UI cuts off the last lines of a page.
const tail = "\u00a0\n\n\u00a0";

/** Renders the page; it stays bounded whatever the size of the pool. */
export function details(pool: { namespace: string; name: string }, progress: Progress): string {
  return fitting([
    ...headline(progress),
    `**Pool** ${plain(`${pool.namespace}/${pool.name}`)}, ${times(progress)}`,
    ...numbers(progress),
    ...decisions(progress),
    ...waves(progress),
    ...underway(progress),
    ...etcd(progress),
    ...advice(pool, progress),
    ...target(progress),
  ]);
}

// A long sentence is no headline.
function headline({ phase, reason, message }: Progress): string[] {
  if (message.length <= 100) return [`## ${phase}: ${plain(message)}`];
  return [`## ${phase}${reason === phase ? "" : `: ${plain(reason)}`}`, plain(message, 600)];
}

function times({ since, until }: Progress): string {
  return `since ${moment(since)}${until ? `, until ${moment(until)} at the latest` : ""}`;
}

function fitting(parts: readonly string[]): string {
  const fits = (page: string): boolean => bytesOf(page, 1) <= heaviest && bytesOf(page, 3) <= longestUrl;
  const page = parts.reduce((page, part) => {
    const longer = page ? `${page}\n\n${part}` : part;
    return fits(`${longer}\n\n${tail}`) ? longer : page;
  }, "");
  return `${page}\n\n${tail}`;
}

// In a URL each byte but those of letters, digits and a few marks takes three.
function bytesOf(text: string, escaped: number): number {
  const special = text.replaceAll(/[A-Za-z0-9\-_.!~*'()]/g, "");
  const wide = special.replaceAll(/[\0-\x7f]/g, "").length;
  return text.length - special.length + (special.length + 2 * wide) * escaped;
}
