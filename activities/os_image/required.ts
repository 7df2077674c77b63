/** Statements that a spec requires: the provenance of an image, and the result of a scan. */
import { z } from "zod";
import type { ImageFault, ImageStatement } from "../../workflows/contracts/mod.ts";
import { Unfit } from "./fault.ts";
import type { SignedStatement } from "./statement.ts";
import { faultText, signerOf, type Trust, trustText } from "./trust.ts";

/**
 * The requirement of a spec: a statement of one of these types, by a trusted signer, about one of the image's digests.
 */
export interface Requirement {
  /** Name of the statement in messages. */
  what: "provenance" | "scan";
  missing: ImageFault;
  invalid: ImageFault;
  /** Types of statements, any of which suffices. */
  predicateTypes: readonly string[];
  /** The builder that the statement must name. */
  builder?: string | undefined;
}

const defaultTypes = {
  provenance: ["https://slsa.dev/provenance/v1", "https://slsa.dev/provenance/v0.2"],
  scan: ["https://cosign.sigstore.dev/attestation/vuln/v1"],
} as const;

interface Asked {
  predicateType?: string | undefined;
  builder?: string | undefined;
}

/** Returns the requirement of `spec.requireProvenance` or `spec.requireScan`. */
export function requirementOf(what: "provenance" | "scan", { predicateType, builder }: Asked): Requirement {
  const [missing, invalid] = what === "scan"
    ? ["ScanMissing", "ScanInvalid"] as const
    : ["ProvenanceMissing", "ProvenanceInvalid"] as const;
  return {
    what,
    missing,
    invalid,
    builder,
    predicateTypes: predicateType === undefined ? defaultTypes[what] : [predicateType],
  };
}

const text = z.string().optional().catch(undefined);
const Builder = z.object({ id: text }).loose().optional().catch(undefined);

/** Fields of SLSA 1 and 0.2, and of cosign's predicate of scans. */
const Predicate = z.object({
  buildType: text,
  builder: Builder,
  buildDefinition: z.object({ buildType: text }).loose().optional().catch(undefined),
  runDetails: z.object({ builder: Builder }).loose().optional().catch(undefined),
  metadata: z.object({ scanFinishedOn: text }).loose().optional().catch(undefined),
}).loose();

/**
 * Returns the first statement that meets the requirement. Throws Unfit, whose reason distinguishes a missing statement
 * from an invalid one.
 */
export function requiredOf(
  statements: readonly SignedStatement[],
  requirement: Requirement,
  { digests, trust }: { digests: readonly string[]; trust: Trust },
): ImageStatement {
  const { what, missing, invalid, predicateTypes, builder } = requirement;
  const ofType = statements.filter(({ predicateType }) => predicateTypes.includes(predicateType));
  if (ofType.length === 0) {
    throw new Unfit(missing, `No ${what} (${predicateTypes.join(", ")}) is attached to the image`);
  }
  const judged = ofType.filter((statement) => statement.digests.some((each) => digests.includes(each)))
    .map((statement) => ({ statement, signer: signerOf(statement, trust) }));
  const signed = judged.flatMap(({ statement, signer }) =>
    "signedBy" in signer ? [summaryOf(statement, signer.signedBy)] : []
  );
  if (signed.length === 0) {
    const faults = faultText(judged.map(({ signer }) => signer), ": ");
    const state = `is for this image and signed by ${trustText(trust)}${faults}`;
    throw new Unfit(invalid, `None of ${ofType.length} attached ${what} statements ${state}`);
  }
  const found = signed.find((each) => builder === undefined || each.builder === builder);
  if (found) return found;
  throw new Unfit(invalid, `The ${what} names builder "${signed[0]?.builder ?? ""}"; expected "${builder}"`);
}

function summaryOf({ predicateType, predicate }: SignedStatement, signedBy: string): ImageStatement {
  const said = Predicate.safeParse(predicate).data;
  const facts = {
    builder: said?.runDetails?.builder?.id ?? said?.builder?.id,
    buildType: said?.buildDefinition?.buildType ?? said?.buildType,
    finishedOn: said?.metadata?.scanFinishedOn,
  };
  const told = Object.entries(facts).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value.slice(0, 512)]]
  );
  return { predicateType, signedBy, ...Object.fromEntries(told) };
}
