/** Chooses boot templates to delete; pure. Clouds limit their number, such as AWS to 10,000 versions of a template. */

/** A template that Ostler made. */
interface OwnTemplate {
  id: string;
  /** Creation time of the template (epoch ms). */
  since: number;
}

/** Number of newest templates that are kept for rollbacks by hand. */
const templatesKept = 10;
/** Age (ms) below which a template is not deleted, because a group may be about to use it. */
const ripeMs = 86_400_000;
/**
 * A template that reaches the age of `ripeMs` within this time (ms) is not reused, because its deletion could begin
 * before a group boots it.
 */
const marginMs = 3_600_000;
/** Maximum number of templates that one call chooses, the oldest first. */
const mostAtOnce = 50;

/** Returns whether a template that Ostler made at `since` is so young that its deletion cannot have begun. */
export function isReusable({ since }: Pick<OwnTemplate, "since">, now: number): boolean {
  return now - since < ripeMs - marginMs;
}

/**
 * Returns the IDs of the templates to delete at `now` (epoch ms): unused, old enough and not among the newest, the
 * oldest first. Templates with the same creation time count as created in their given order.
 */
export function spareTemplates(
  own: readonly OwnTemplate[],
  { used, now }: { used: ReadonlySet<string>; now: number },
): string[] {
  const byAge = [...own].sort((a, b) => a.since < b.since ? -1 : Number(a.since > b.since));
  return byAge.slice(0, Math.max(0, byAge.length - templatesKept))
    .filter(({ id, since }) => !used.has(id) && now - since > ripeMs)
    .slice(0, mostAtOnce).map(({ id }) => id);
}
