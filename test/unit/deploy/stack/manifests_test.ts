import assert from "node:assert/strict";
import { parseManifests } from "../../../../deploy/local/stack/manifests.ts";

Deno.test("parseManifests: keeps objects exactly as written, in order", () => {
  const text = `# a comment
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.example.dev
spec:
  x-kubernetes-preserve-unknown-fields: true
  a field of tomorrow: [1, "2"]
---

--- # nothing here

---
apiVersion: v1
kind: ConfigMap
metadata: {name: text}
data:
  script: |
    first

      indented
    last
`;
  assert.deepEqual(parseManifests(text, "widgets.yaml"), [
    {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: "widgets.example.dev" },
      spec: { "x-kubernetes-preserve-unknown-fields": true, "a field of tomorrow": [1, "2"] },
    },
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "text" },
      data: { script: "first\n\n  indented\nlast\n" },
    },
  ]);
});

Deno.test("parseManifests: refuses a document that is not an object, with file and position", () => {
  const text = "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n---\nkind: Namespace\nmetadata: {name: b}\n";
  assert.throws(
    () => parseManifests(text, "two.yaml"),
    /^Error: Invalid document 2 of "two.yaml": apiVersion, kind and metadata.name are required$/,
  );
});
