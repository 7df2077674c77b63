import { deepEqual, ok } from "node:assert/strict";
import { compareVersions, minorsBetween, versionIn } from "../../../../workflows/kubernetes/versions.ts";

const invalid = [
  ...["", "v1", "v1.36", "1.36.1", "V1.36.1", "v1.36.1 ", " v1.36.1", "v1.36.1\n", "v1.36.1-rc.1", "v1.36.1+k3s1"],
  ...["v1.36.1.2", "v01.36.1", "v1.036.1", "v1.36.01", "v1.-36.1", "v1.36.x", "v1.36.1234567", "v１.36.1"],
];

for (const text of invalid) {
  Deno.test(`K23 versionIn: returns undefined for ${JSON.stringify(text)}`, () => {
    deepEqual(versionIn(text), undefined);
  });
}

Deno.test("K23 compareVersions: compares by numbers, not by text", () => {
  const inOrder = ["v0.40.0", "v1.9.10", "v1.10.0", "v1.10.9", "v1.10.10", "v1.36.1", "v2.0.0"].map(versionIn);
  inOrder.forEach((one, index) => {
    const next = inOrder[index + 1];
    ok(one);
    deepEqual(compareVersions(one, one), 0);
    if (next) ok(compareVersions(one, next) < 0 && compareVersions(next, one) > 0);
  });
});

Deno.test("K23 minorsBetween: returns undefined between major versions", () => {
  const [old, minor, major] = ["v1.35.4", "v1.36.0", "v2.0.0"].map(versionIn);
  ok(old && minor && major);
  deepEqual([minorsBetween(old, minor), minorsBetween(minor, old), minorsBetween(minor, major)], [1, -1, undefined]);
});
