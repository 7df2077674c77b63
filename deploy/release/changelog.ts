/** Reads the notes and the date of a version from CHANGELOG.md. */

export interface Entry {
  /** Release date as in Keep a Changelog; undefined for an unreleased version. */
  readonly date: string | undefined;
  /** Notes of the version: the Markdown below its heading. */
  readonly notes: string;
}

/**
 * Returns the release notes of a version. Throws if the version has no date or files are not committed, except for a
 * draft.
 */
export function notesOf(
  changelog: string,
  { version, isChanged }: { version: string; isChanged: boolean },
  isDraft: boolean,
): string {
  if (isChanged && !isDraft) {
    throw new Error(`Failed to release ${version}: files differ from the commit; commit them, or use --draft`);
  }
  const entry = entryOf(changelog, version);
  if (entry?.date === undefined && !isDraft) {
    throw new Error(
      `Failed to release ${version}: CHANGELOG.md has no "## [${version}] - DATE"; add it, or use --draft`,
    );
  }
  return entry?.notes ?? "";
}

/**
 * Returns the entry of a version, or the Unreleased entry if the version has none; undefined if CHANGELOG.md has
 * neither.
 */
export function entryOf(changelog: string, version: string): Entry | undefined {
  const parts = changelog.split(/^## \[([^\]]+)\](?: - (\d{4}-\d{2}-\d{2}))?[^\n]*\n/m);
  for (const wanted of [version, "Unreleased"]) {
    for (let at = 1; at < parts.length; at += 3) {
      if (parts[at] === wanted) return { date: parts[at + 1], notes: (parts[at + 2] ?? "").trim() };
    }
  }
  return undefined;
}
