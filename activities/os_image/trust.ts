/** The trusted signers of a spec: keys, and identities that a certificate authority confirms. */
import type { OSImageSpec } from "../kube/os_images.ts";
import { certifiedSigner, unreadable } from "./keyless/certified_signer.ts";
import { type KeylessTrust, readKeyless } from "./keyless/keyless_trust.ts";
import { keyOf, readKeys, type TrustedKey } from "./keys.ts";
import type { Signed } from "./signed.ts";

export interface Trust {
  keys: readonly TrustedKey[];
  keyless: KeylessTrust | undefined;
}

/**
 * The trusted signer, or why the signature is not trusted: a clause that calls the signature "one", because an image
 * may have several. `fault` is undefined if no message is needed.
 */
export type Signer = { signedBy: string } | { fault: string | undefined };

/** Reads the trusted signers of a spec. Throws Unfit, which names the invalid field and quotes no value. */
export function readTrust({ keys = [], keyless }: Pick<OSImageSpec, "keys" | "keyless">): Trust {
  return { keys: readKeys(keys, "spec.keys"), keyless: keyless && readKeyless(keyless) };
}

/**
 * Returns the signer: the fingerprint of the key, or issuer and subject of the identity; the fault if neither is
 * trusted.
 */
export function signerOf(signed: Signed, { keys, keyless }: Trust): Signer {
  const key = keyOf(signed, keys);
  if (key) return { signedBy: key.fingerprint };
  const { certified } = signed;
  if (keyless === undefined || certified === undefined) return { fault: undefined };
  return certified === "Unreadable" ? unreadable : certifiedSigner(signed, certified, keyless);
}

/** Describes the trusted signers for messages. */
export function trustText({ keys, keyless }: Trust): string {
  const prints = keys.map(({ fingerprint }) => fingerprint).join(", ");
  const { length } = keyless?.identities ?? [];
  return [
    ...(keys.length === 0 ? [] : [`a key of the spec (${prints})`]),
    ...(keyless === undefined
      ? []
      : [length === 1 ? "the identity of the spec" : `one of the spec's ${length} identities`]),
  ].join(" or ");
}

/** Returns at most two different faults after the text `before`; "" without faults. */
export function faultText(signers: readonly Signer[], before: string): string {
  const faults = new Set(signers.flatMap((each) => "fault" in each && each.fault !== undefined ? [each.fault] : []));
  return faults.size === 0 ? "" : `${before}${[...faults].slice(0, 2).join("; ")}`;
}
