/** Writes a list of packages as an SPDX 2.3 document (spdx.github.io/spdx-spec/v2.3). */
import { createHash } from "node:crypto";

/** A package that the product contains. */
export interface Material {
  name: string;
  version: string;
  purl: string;
  /** License as stated by the package; included in the document only if it is an SPDX expression. */
  license?: string;
  supplier?: string;
  comment?: string;
}

interface Product {
  name: string;
  version: string;
  /** Creation time in RFC 3339, in whole seconds. */
  created: string;
}

/** Matches the SPDX expressions that packages use: identifiers joined by AND, OR and WITH. */
const expression = /^\(?[A-Za-z0-9.+-]+( (AND|OR|WITH) [A-Za-z0-9.+-]+)*\)?$/;
const unknown = "NOASSERTION";
const noExpression = ["UNLICENSED", "SEE"];

/** Returns the document that describes the product; the order of `materials` does not change the document. */
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
