/** OS images: which digest a reference resolves to, and whether the image is accepted. */
import type { ClusterObject } from "./node_version.ts";

/** Why an image could not be checked; none of these reasons is about the image itself. */
export type ImageDoubt = "RegistryUnreachable" | "RegistryDenied" | "CredentialsMissing";

/** Why an image is not accepted; `docs/how-to/os-images.md` lists the remedy for each reason. */
export type ImageFault =
  | "SpecInvalid"
  | "NotFound"
  | "ManifestInvalid"
  | "PlatformMissing"
  | "TooOld"
  | "SignatureMissing"
  | "SignatureInvalid"
  | "ProvenanceMissing"
  | "ProvenanceInvalid"
  | "ScanMissing"
  | "ScanInvalid";

/** The image that a reference resolves to at a registry; each digest was computed from the bytes that were read. */
export interface ResolvedImage {
  /** UID of the OSImage, because a new object of its name can have the same generation; absent in older histories. */
  uid?: string;
  /** Generation of the OSImage whose spec was used. */
  generation: number;
  /** Registry and path, without tag and digest. */
  repository: string;
  /** Digest of the manifest for the requested platform. */
  digest: string;
  /** Digest of the index that lists the manifest, if there is an index. */
  indexDigest?: string;
  /** Creation time that the image states (RFC 3339). */
  created?: string;
}

/** A statement about an image; the statement itself has a trusted signature. */
export interface ImageStatement {
  predicateType: string;
  /** The signer, in the format of `ImageEvidence.signedBy`. */
  signedBy: string;
  /** The builder that a provenance names. */
  builder?: string;
  buildType?: string;
  /** End of a scan (RFC 3339). */
  finishedOn?: string;
}

/** The signatures and statements on which an image was accepted. */
export interface ImageEvidence {
  /** "sha256:" and the SHA-256 of the key's SubjectPublicKeyInfo, or "ISSUER SUBJECT" for a keyless signature. */
  signedBy: string;
  /** The signed digest: of the manifest, or of the index that lists it. */
  signed: string;
  provenance?: ImageStatement;
  scan?: ImageStatement;
}

/** Refused: the image was checked and is not accepted. Unknown: the registry could not be read. */
export type ImageRefusal =
  | { outcome: "Refused"; generation: number; reason: ImageFault; message: string }
  | { outcome: "Unknown"; generation: number; reason: ImageDoubt; message: string };

/** The result of resolving a reference; Gone: the OSImage was deleted. */
export type ImageLook = { outcome: "Resolved"; image: ResolvedImage } | ImageRefusal | { outcome: "Gone" };

/** The result of verifying an image. */
export type ImageVerdict = { outcome: "Verified"; evidence: ImageEvidence } | ImageRefusal;

/** The result written to an OSImage: accepted, refused (with the resolved image if it is known), or unknown. */
export type ImageFinding =
  | { state: "Accepted"; image: ResolvedImage; evidence: ImageEvidence }
  | { state: "Refused"; reason: ImageFault; message: string; generation: number; image?: ResolvedImage }
  | { state: "Unknown"; reason: ImageDoubt; message: string };

/** The result of a run of `admitImage`. */
export type ImageOutcome =
  | { outcome: "Accepted"; digest: string }
  | { outcome: "Refused" | "Unknown"; reason: string; message: string }
  | { outcome: "Gone" };

/** Whether a pool may use the image of an OSImage; `image` is without tag and digest. */
export type AcceptedImage =
  | { state: "Accepted"; image: string; digest: string }
  | { state: "Refused" | "Waiting" | "Missing"; reason: string; message: string };

export interface ImageActivities {
  /** Resolves the reference at the registry; throws RegistryUnreachable if the registry does not respond. */
  resolveImage(input: { object: ClusterObject }): Promise<ImageLook>;
  /** Verifies signatures and statements for the resolved digests; throws GenerationStale if the spec has changed. */
  verifyImage(input: { object: ClusterObject; image: ResolvedImage }): Promise<ImageVerdict>;
  /** Writes a finding to the status; returns "Gone" if the object was deleted. */
  ensureImageTold(input: { object: ClusterObject; finding: ImageFinding }): Promise<"Told" | "Gone">;
}
