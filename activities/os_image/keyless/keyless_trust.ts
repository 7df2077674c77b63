/** The validated part of a spec about keyless signatures: the authorities, logs and identities that it trusts. */
import type { OSImageSpec } from "../../kube/os_images.ts";
import { Unfit } from "../fault.ts";
import { isTaken, readKeys, type TrustedKey } from "../keys.ts";
import { type Certificate, readCertificate } from "./certificate.ts";
import type { Identity } from "./identity.ts";
import { certificatesIn } from "./pem.ts";

export interface KeylessTrust {
  roots: readonly Certificate[];
  logs: readonly TrustedKey[];
  identities: readonly Identity[];
}

/** Reads `spec.keyless`. Throws Unfit, which names the invalid part and quotes no value. */
export function readKeyless(spec: NonNullable<OSImageSpec["keyless"]>): KeylessTrust {
  const { roots, transparencyLogs, identities } = spec;
  return {
    roots: roots.map(readRoot),
    logs: readKeys(transparencyLogs, "spec.keyless.transparencyLogs"),
    identities,
  };
}

function readRoot(text: string, at: number): Certificate {
  const [der] = certificatesIn(text, 1) ?? [];
  const root = der && readCertificate(der);
  if (root?.depth !== undefined && isKnown(root)) return root;
  const needs = "a PEM certificate of an authority (ECDSA P-256 or P-384, Ed25519, RSA) that may sign certificates";
  throw new Unfit("SpecInvalid", `spec.keyless.roots[${at}] is not ${needs}`);
}

/** Returns whether the authority's key has a type with which certificates can be verified. */
function isKnown({ key }: Certificate): boolean {
  return isTaken(key) || (key.asymmetricKeyType === "ec" && key.asymmetricKeyDetails?.namedCurve === "secp384r1");
}
