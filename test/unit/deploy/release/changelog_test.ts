import { deepEqual, equal, match, ok, throws } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { entryOf, notesOf } from "../../../../deploy/release/changelog.ts";
import manifest from "../../../../package.json" with { type: "json" };

const text = `# Changelog

## [Unreleased]
- to come

## [1.1.0] - 2026-12-01

### Fixed
- a thing

## [1.0.0] - 2026-11-01
- the first
`;

Deno.test("entryOf: returns the text below a version's heading, up to the next heading", () => {
  deepEqual(entryOf(text, "1.1.0"), { date: "2026-12-01", notes: "### Fixed\n- a thing" });
  deepEqual(entryOf(text, "1.0.0"), { date: "2026-11-01", notes: "- the first" });
});

Deno.test("entryOf: returns the Unreleased entry, without a date, for a version that has no entry", () => {
  deepEqual(entryOf(text, "1.2.0"), { date: undefined, notes: "- to come" });
  equal(entryOf("# Changelog\n", "1.2.0"), undefined);
});

Deno.test("notesOf: accepts a version without a date, or with uncommitted files, only as a draft", () => {
  const dated = { version: "1.1.0", isChanged: false };
  equal(notesOf(text, dated, false), "### Fixed\n- a thing");
  const refused: [typeof dated, RegExp][] = [
    [
      { ...dated, isChanged: true },
      /^Error: Failed to release 1\.1\.0: files differ from the commit; commit them, or use --draft$/,
    ],
    [
      { ...dated, version: "1.2.0" },
      /^Error: Failed to release 1\.2\.0: CHANGELOG\.md has no "## \[1\.2\.0\] - DATE"; add it, or use --draft$/,
    ],
  ];
  for (const [source, reason] of refused) {
    throws(() => notesOf(text, source, false), reason);
    ok(notesOf(text, source, true));
  }
});

Deno.test("CHANGELOG.md: has an entry with upgrade notes for the version of package.json", () => {
  const changelog = readFileSync(new URL("../../../../CHANGELOG.md", import.meta.url), "utf8");
  const entry = entryOf(changelog, manifest.version);
  ok(entry);
  match(entry.notes, /^### Upgrade notes$/m);
  for (const [, heading = ""] of changelog.matchAll(/^## (.*)$/gm)) {
    match(heading, /^\[(Unreleased|\d+\.\d+\.\d+\] - \d{4}-\d{2}-\d{2})/);
  }
});
