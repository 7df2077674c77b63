import { equal, match } from "node:assert/strict";
import { versionFault } from "../../../../workers/admission/admit_profile.ts";

Deno.test("versionFault: orders versions as SemVer 2.0 does", () => {
  // The examples of semver.org, section 11, and v1.10.0, which a comparison of texts would sort before v1.2.0.
  const rising = [
    ...["v1.0.0-alpha", "v1.0.0-alpha.1", "v1.0.0-alpha.beta", "v1.0.0-beta", "v1.0.0-beta.2", "v1.0.0-beta.11"],
    ...["v1.0.0-rc.1", "v1.0.0", "v1.2.0", "v1.10.0", "v2.0.0"],
  ];
  rising.forEach((one, at) =>
    rising.forEach((other, place) => equal(versionFault(one, other) !== undefined, place <= at, `${one} to ${other}`))
  );
});

Deno.test("versionFault: requires a version that differs from the previous one, and is not lower, when the spec changes", () => {
  match(versionFault("v1.0.0", "v1.0.0") ?? "", /the spec changed, but the version is still "v1.0.0"/);
  match(versionFault("v1.10.0", "v1.9.9") ?? "", /decreases from "v1.10.0" to "v1.9.9"/);
  for (const [before, after] of [["v1.9.9", "v1.10.0"], ["v1.0.0+a", "v1.0.0+b"], ["xxv9.0.0", "v1.0.0"]]) {
    equal(versionFault(before ?? "", after ?? ""), undefined);
  }
});
