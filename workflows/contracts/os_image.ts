/** Images of operating systems: which digest a name stands for, and whether it may run here. */
import type { ClusterObject } from "./node_version.ts";

/** Why nothing is known of an image for now: none of these says anything about the image. */
export type ImageDoubt = "RegistryUnreachable" | "RegistryDenied" | "CredentialsMissing";

/** Why an image is not accepted; `docs/how-to/os-images.md` has what to do about each. */
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

/** What a reference stands for at a registry; each digest is that of bytes that we have read. */
export interface ResolvedImage {
  /** Of the object whose spec was followed. */
  generation: number;
  /** Registry and path, without tag and digest. */
  repository: string;
  /** Of the manifest for the wanted platform. */
  digest: string;
  /** Of the index that lists it, where there is one. */
  indexDigest?: string;
  /** When the image says that it was made (RFC 3339). */
  created?: string;
}

/** A statement about an image that somebody signed whose signature counts. */
export interface ImageStatement {
  predicateType: string;
  /** As in the evidence. */
  signedBy: string;
  /** Who built it, as a provenance tells. */
  builder?: string;
  buildType?: string;
  /** When a scan ended (RFC 3339). */
  finishedOn?: string;
}

/** Whose word an image was accepted on. */
export interface ImageEvidence {
  /** "sha256:" and the SHA-256 of the key's SubjectPublicKeyInfo; of a keyless signature "ISSUER SUBJECT". */
  signedBy: string;
  /** The digest that was signed: of the manifest, or of the index that lists it. */
  signed: string;
  provenance?: ImageStatement;
  scan?: ImageStatement;
}

/** Refused: for good, as things are. Unknown: by a registry that does not let us look. */
export type ImageRefusal =
  | { outcome: "Refused"; generation: number; reason: ImageFault; message: string }
  | { outcome: "Unknown"; generation: number; reason: ImageDoubt; message: string };

export type ImageLook = { outcome: "Resolved"; image: ResolvedImage } | ImageRefusal | { outcome: "Gone" };

export type ImageVerdict = { outcome: "Verified"; evidence: ImageEvidence } | ImageRefusal;

/** What an object is told: accepted, refused (with what it stands for, where that is known), or that nobody can tell. */
export type ImageFinding =
  | { state: "Accepted"; image: ResolvedImage; evidence: ImageEvidence }
  | { state: "Refused"; reason: ImageFault; message: string; generation: number; image?: ResolvedImage }
  | { state: "Unknown"; reason: ImageDoubt; message: string };

/** How a run of `admitImage` ended. */
export type ImageOutcome =
  | { outcome: "Accepted"; digest: string }
  | { outcome: "Refused" | "Unknown"; reason: string; message: string }
  | { outcome: "Gone" };

/** Whether a pool may use an image, by the name of its OSImage; `image` is without tag and digest. */
export type AcceptedImage =
  | { state: "Accepted"; image: string; digest: string }
  | { state: "Refused" | "Waiting" | "Missing"; reason: string; message: string };

export interface ImageActivities {
  /** Asks the registry what the reference stands for; throws RegistryUnreachable where nobody answers. */
  resolveImage(input: { object: ClusterObject }): Promise<ImageLook>;
  /** Looks for signatures and statements about those digests; throws GenerationStale where the spec is another by now. */
  verifyImage(input: { object: ClusterObject; image: ResolvedImage }): Promise<ImageVerdict>;
  /** Writes a finding into the status; "Gone" where there is no object any more. */
  ensureImageTold(input: { object: ClusterObject; finding: ImageFinding }): Promise<"Told" | "Gone">;
}
