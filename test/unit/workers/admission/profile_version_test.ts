import { equal, match } from "node:assert/strict";
import { versionFault } from "../../../../workers/admission/admit_profile.ts";

Deno.test("versionFault: orders versions as SemVer 2.0 does", () => {
  // The example of semver.org, section 11, with a version of two digits.
  const rising = [
    ...["v1.0.0-alpha", "v1.0.0-alpha.1", "v1.0.0-alpha.beta", "v1.0.0-beta", "v1.0.0-beta.2", "v1.0.0-beta.11"],
    ...["v1.0.0-rc.1", "v1.0.0", "v1.2.0", "v1.10.0", "v2.0.0"],
  ];
  rising.forEach((one, at) =>
    rising.forEach((other, place) => equal(versionFault(one, other) !== undefined, place <= at, `${one} to ${other}`))
  );
});

Deno.test("versionFault: requires another version, and not a lower one, when the spec changes", () => {
  match(versionFault("v1.0.0", "v1.0.0") ?? "", /the spec changed, but the version is still "v1.0.0"/);
  match(versionFault("v1.10.0", "v1.9.9") ?? "", /decreases from "v1.10.0" to "v1.9.9"/);
  for (const [before, after] of [["v1.9.9", "v1.10.0"], ["v1.0.0+a", "v1.0.0+b"], ["xxv9.0.0", "v1.0.0"]]) {
    equal(versionFault(before ?? "", after ?? ""), undefined);
  }
});
