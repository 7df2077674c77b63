import { deepEqual, throws } from "node:assert/strict";
import { nearestBefore } from "../../../../deploy/release/deno_program.ts";
import { parseOptions, targets, UsageError } from "../../../../deploy/release/options.ts";

Deno.test("parseOptions: selects every part for every system by default", () => {
  deepEqual(parseOptions([]), {
    ...{ output: "dist", isDraft: false, help: false, isNearDeno: false, signKey: "", snapshot: "" },
    ...{ without: [], targets },
  });
});

Deno.test("parseOptions: accepts parts and systems by exact name only", () => {
  const { without, targets } = parseOptions(["--without", "image,cli", "--targets=linux-arm64"]);
  deepEqual([without, targets], [["cli", "image"], ["linux-arm64"]]);
  const wrong = [["--without", "chart"], ["--targets", "windows-amd64"], ["--bogus"], ["now"], ["--snapshot=today"]];
  for (const args of wrong) throws(() => parseOptions(args), UsageError, args.join(" "));
});

Deno.test("nearestBefore: returns an older version that differs in the patch number only", () => {
  const versions = ["2.8.9", "2.9.3", "2.9.5", "2.9.4", "2.9.7", "2.10.0", "2.9.5-rc.1"];
  deepEqual([nearestBefore("2.9.6", versions), nearestBefore("2.9.3", versions)], ["2.9.5", undefined]);
});
