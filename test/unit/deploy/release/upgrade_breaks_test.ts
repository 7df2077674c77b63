import { deepEqual } from "node:assert/strict";
import type { ManifestObject } from "../../../../deploy/local/stack/resource_paths.ts";
import { upgradeBreaks } from "../../../support/upgrade_breaks.ts";

type Part = Record<string, unknown>;

function objectOf(kind: string, part: Part, name = "ostler"): ManifestObject {
  return { apiVersion: "v1", kind, metadata: { name, namespace: "ostler-system" }, ...part } as ManifestObject;
}

function definition(schema: Part, version: Part = {}, spec: Part = {}): ManifestObject {
  const one = { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object", ...schema } } };
  const names = { kind: "Rollout", plural: "rollouts" };
  const whole = { group: "ostler.dev", scope: "Namespaced", names, versions: [{ ...one, ...version }], ...spec };
  return {
    apiVersion: "x/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "rollouts" },
    spec: whole,
  } as ManifestObject;
}

function breaks(before: ManifestObject, after: ManifestObject | undefined, notes = ""): string[] {
  return upgradeBreaks([before], after ? [after] : [], notes);
}

Deno.test("upgrade: accepts added objects, fields and enum values, and changed mutable fields", () => {
  const before = definition({ properties: { a: { type: "string", enum: ["x"], maxLength: 8 } }, required: ["a"] });
  const grown = { properties: { a: { type: "string", enum: ["x", "y"], maxLength: 9 }, b: { type: "integer" } } };
  deepEqual(breaks(before, definition(grown)), []);
  const deployment = (replicas: number): ManifestObject =>
    objectOf("Deployment", { spec: { replicas, selector: { a: "b" } } });
  deepEqual(upgradeBreaks([deployment(1)], [deployment(2), objectOf("Service", {})], ""), []);
});

Deno.test("upgrade: breaks when an immutable field changes", () => {
  const deployment = (label: string): ManifestObject =>
    objectOf("Deployment", { spec: { selector: { matchLabels: { a: label } } } });
  deepEqual(breaks(deployment("b"), deployment("c")), [
    "Deployment ostler-system/ostler changes spec.selector, which cannot be changed",
  ]);
  const job = (image: string): ManifestObject => objectOf("Job", { spec: { template: { image } } });
  deepEqual(breaks(job("a"), job("b")), ["Job ostler-system/ostler changes spec.template, which cannot be changed"]);
  const binding = (name: string): ManifestObject => objectOf("RoleBinding", { roleRef: { name } });
  deepEqual(breaks(binding("a"), binding("b")).length, 1);
});

Deno.test("upgrade: breaks when an object is removed, unless upgrade notes name it or it is a Job", () => {
  const gone = objectOf("Role", {}, "ostler-lease");
  deepEqual(breaks(gone, undefined), ["Role ostler-system/ostler-lease is gone, and CHANGELOG.md does not say so"]);
  deepEqual(breaks(gone, undefined, "delete the Role ostler-lease by hand"), []);
  deepEqual(breaks(objectOf("Job", {}, "ostler-setup-1"), undefined), []);
});

const field = { properties: { a: { type: "string" } } };
const cases: [string, Part, Part, string[]][] = [
  ["removes a field", field, {}, [".a is gone"]],
  ["changes the type of a field", field, { properties: { a: { type: "integer" } } }, [".a is no longer string"]],
  ["requires an optional field", field, { ...field, required: ["a"] }, [".a is required now"]],
  [
    "removes a value of an enum",
    { properties: { a: { enum: ["x", "y"] } } },
    { properties: { a: { enum: ["x"] } } },
    ['.a may no longer be "y"'],
  ],
  ["limits a free field to an enum", field, { properties: { a: { type: "string", enum: ["x"] } } }, [
    ".a accepts only enum values now",
  ]],
  ["changes a pattern", field, { properties: { a: { type: "string", pattern: "^x" } } }, [".a has another pattern"]],
  ["tightens limits", { properties: { a: { type: "string", maxLength: 9 } } }, {
    properties: { a: { type: "string", maxLength: 8, minLength: 1 } },
  }, [".a has the tighter limit minLength 1", ".a has the tighter limit maxLength 8"]],
  ["removes a field of the items of a list", { properties: { a: { items: field } } }, {
    properties: { a: { items: {} } },
  }, [".a[].a is gone"]],
  ["removes a field of the values of a mapping", { additionalProperties: field }, { additionalProperties: {} }, [
    ".*.a is gone",
  ]],
];
for (const [what, before, after, wanted] of cases) {
  Deno.test(`upgrade: breaks existing objects when the schema of a CRD ${what}`, () => {
    const about = "CustomResourceDefinition rollouts v1";
    deepEqual(breaks(definition(before), definition(after)), wanted.map((line) => `${about}${line}`));
  });
}

Deno.test("upgrade: requires that a CRD keeps its name, scope and served versions", () => {
  const about = "CustomResourceDefinition rollouts";
  const old = definition({});
  deepEqual(breaks(old, definition({}, { name: "v2" })), [`${about} no longer serves v1`]);
  deepEqual(breaks(old, definition({}, { served: false })), [`${about} no longer serves v1`]);
  deepEqual(breaks(old, definition({}, {}, { scope: "Cluster" })), [`${about} changes scope, which cannot be changed`]);
});
