/** A list of packages as a document of SPDX 2.3 (spdx.github.io/spdx-spec/v2.3). */
import { createHash } from "node:crypto";

/** A package that something is made of. */
export interface Material {
  name: string;
  version: string;
  purl: string;
  /** As its maker says; told on only where it is an expression of SPDX. */
  license?: string;
  supplier?: string;
  comment?: string;
}

export interface Product {
  name: string;
  version: string;
  /** RFC 3339, in whole seconds. */
  created: string;
}

/** Identifiers with AND and OR, which is as much as packages say. */
const expression = /^\(?[A-Za-z0-9.+-]+( (AND|OR|WITH) [A-Za-z0-9.+-]+)*\)?$/;
const unknown = "NOASSERTION";
const noExpression = ["UNLICENSED", "SEE"];

/** The document that describes the product; the same for the same materials, in whatever order they come. */
export function spdxDocument(product: Product, materials: readonly Material[]): object {
  const all = new Map(materials.map((material) => [material.purl, material]));
  const packages = [...all.keys()].sort().map((purl) => packageOf(all.get(purl) as Material));
  const digest = createHash("sha256").update(JSON.stringify([product, packages])).digest("hex");
  const describe = (id: string): object => relationship("SPDXRef-DOCUMENT", "DESCRIBES", id);
  const root = { ...packageOf({ ...product, purl: `pkg:oci/${product.name}` }), SPDXID: "SPDXRef-Image" };
  return {
    spdxVersion: "SPDX-2.3",
    dataLicense: "CC0-1.0",
    SPDXID: "SPDXRef-DOCUMENT",
    name: `${product.name}-${product.version}`,
    documentNamespace: `https://ostler.dev/spdx/${product.name}-${encodeURIComponent(product.version)}-${digest}`,
    creationInfo: { created: product.created, creators: [`Tool: ${product.name}-image`] },
    packages: [root, ...packages],
    relationships: [
      describe("SPDXRef-Image"),
      ...packages.map(({ SPDXID }) => relationship("SPDXRef-Image", "CONTAINS", SPDXID)),
    ],
  };
}

function packageOf({ name, version, purl, license = "", supplier, comment }: Material): { SPDXID: string } {
  const isExpression = expression.test(license) && !noExpression.some((word) => license.startsWith(word));
  return {
    SPDXID: `SPDXRef-${createHash("sha256").update(purl).digest("hex").slice(0, 24)}`,
    ...{ name, versionInfo: version },
    ...(supplier === undefined ? {} : { supplier }),
    downloadLocation: unknown,
    filesAnalyzed: false,
    licenseConcluded: unknown,
    licenseDeclared: isExpression ? license : unknown,
    copyrightText: unknown,
    ...(comment === undefined ? {} : { comment }),
    externalRefs: [{ referenceCategory: "PACKAGE-MANAGER", referenceType: "purl", referenceLocator: purl }],
  } as { SPDXID: string };
}

function relationship(spdxElementId: string, relationshipType: string, relatedSpdxElement: string): object {
  return { spdxElementId, relationshipType, relatedSpdxElement };
}
