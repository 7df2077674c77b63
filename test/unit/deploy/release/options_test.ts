import { deepEqual, throws } from "node:assert/strict";
import { parseOptions, targets, UsageError } from "../../../../deploy/local/release/options.ts";

Deno.test("a release has every part for every system unless told", () => {
  deepEqual(parseOptions([]), { output: "dist", isDraft: false, help: false, without: [], targets });
});

Deno.test("parts and systems are left out by name alone", () => {
  const { without, targets } = parseOptions(["--without", "image,cli", "--targets=linux-arm64"]);
  deepEqual([without, targets], [["cli", "image"], ["linux-arm64"]]);
  const wrong = [["--without", "chart"], ["--targets", "windows-amd64"], ["--bogus"], ["now"]];
  for (const args of wrong) throws(() => parseOptions(args), UsageError, args.join(" "));
});
