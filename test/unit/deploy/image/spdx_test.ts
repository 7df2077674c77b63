import { deepEqual, equal, notEqual } from "node:assert/strict";
import { debianPackages, goModules } from "../../../../deploy/image/materials.ts";
import { type Material, spdxDocument } from "../../../../deploy/image/spdx.ts";

interface Document {
  documentNamespace: string;
  packages: { SPDXID: string; name: string; versionInfo: string; licenseDeclared: string; externalRefs: object[] }[];
  relationships: { spdxElementId: string; relationshipType: string; relatedSpdxElement: string }[];
}

const product = { name: "ostler", version: "1.2.3", created: "2026-01-02T03:04:05Z" };
const materials: Material[] = [
  { name: "b", version: "2", purl: "pkg:npm/b@2", license: "(MIT OR Apache-2.0)" },
  { name: "a", version: "1", purl: "pkg:npm/a@1", license: "SEE LICENSE IN LICENSE" },
  { name: "a", version: "1", purl: "pkg:npm/a@1" },
];

function documentOf(of: readonly Material[]): Document {
  return spdxDocument(product, of) as Document;
}

Deno.test("spdxDocument: lists each material once, independent of the order of input, in a namespace that depends on the content", () => {
  const document = documentOf(materials);
  deepEqual(document.packages.map(({ name, versionInfo, licenseDeclared }) => [name, versionInfo, licenseDeclared]), [
    ["ostler", "1.2.3", "NOASSERTION"],
    ["a", "1", "NOASSERTION"],
    ["b", "2", "(MIT OR Apache-2.0)"],
  ]);
  deepEqual(documentOf(materials.toReversed()).packages, document.packages);
  notEqual(documentOf(materials.slice(1)).documentNamespace, document.documentNamespace);
});

Deno.test("spdxDocument: has relationships to existing packages only, with ids that SPDX allows", () => {
  const { packages, relationships } = documentOf(materials);
  const ids = packages.map(({ SPDXID }) => SPDXID);
  equal(new Set(ids).size, ids.length);
  deepEqual(ids.filter((id) => !/^SPDXRef-[A-Za-z0-9.-]+$/.test(id)), []);
  deepEqual(relationships.map(({ relatedSpdxElement }) => relatedSpdxElement).sort(), [...ids].sort());
  equal(relationships[0]?.relationshipType, "DESCRIBES");
});

Deno.test("debianPackages: skips removed packages, and includes packages without a Status field", () => {
  const status = [
    "Package: libc6\nStatus: install ok installed\nArchitecture: amd64\nVersion: 2.36-9+deb12u10\nDescription: C\n more",
    "Package: gone\nStatus: deinstall ok config-files\nArchitecture: amd64\nVersion: 1",
    "Package: tini\nVersion: 0.19.0-1\nArchitecture: arm64",
  ].join("\n\n");
  deepEqual(debianPackages(`${status}\n`).map(({ purl }) => purl), [
    "pkg:deb/debian/libc6@2.36-9%2Bdeb12u10?arch=amd64",
    "pkg:deb/debian/tini@0.19.0-1?arch=arm64",
  ]);
});

Deno.test("goModules: returns direct and indirect modules of a go.mod", () => {
  const text =
    "module x/y\n\ngo 1.26\n\nrequire (\n\tgithub.com/a/b/v3 v3.3.0\n\tgopkg.in/yaml.v3 v3.0.1 // indirect\n)\n";
  deepEqual(goModules(text, "program").map(({ name, version }) => [name, version]), [
    ["github.com/a/b/v3", "v3.3.0"],
    ["gopkg.in/yaml.v3", "v3.0.1"],
  ]);
});
