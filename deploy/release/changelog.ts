/** CHANGELOG.md, as far as a release asks it: what is new in a version, and since when it is out. */

export interface Entry {
  /** As in Keep a Changelog; undefined as long as nobody has released it. */
  readonly date: string | undefined;
  /** Markdown below the heading. */
  readonly notes: string;
}

/**
 * What is told of a version that is released now. Throws where nobody would know what it is: it has no date, or its files
 * are of no commit; a draft may be so.
 */
export function notesOf(
  changelog: string,
  { version, isChanged }: { version: string; isChanged: boolean },
  isDraft: boolean,
): string {
  if (isChanged && !isDraft) throw new Error(`Cannot release ${version}: files differ from the commit; see --draft`);
  const entry = entryOf(changelog, version);
  if (entry?.date === undefined && !isDraft) {
    throw new Error(`Cannot release ${version}: CHANGELOG.md has no "## [${version}] - DATE"; see --draft`);
  }
  return entry?.notes ?? "";
}

/** The entry of a version, or what is unreleased where it has none; undefined where there is neither. */
export function entryOf(changelog: string, version: string): Entry | undefined {
  const parts = changelog.split(/^## \[([^\]]+)\](?: - (\d{4}-\d{2}-\d{2}))?[^\n]*\n/m);
  for (const wanted of [version, "Unreleased"]) {
    for (let at = 1; at < parts.length; at += 3) {
      if (parts[at] === wanted) return { date: parts[at + 1], notes: (parts[at + 2] ?? "").trim() };
    }
  }
  return undefined;
}
