/** Signs the files of a release as cosign does, with a key that the caller gives. */
import { Buffer } from "node:buffer";
import { createPrivateKey, type KeyObject, sign } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { run } from "./source.ts";

const payloadType = "application/vnd.in-toto+json";

/** Reads a private key; throws unless it is an unencrypted ECDSA key on P-256, the curve of the keys of cosign. */
export async function readKey(path: string): Promise<KeyObject> {
  const pem = await readFile(path).catch((error: unknown) => {
    const { code = "unknown error" } = error as NodeJS.ErrnoException;
    throw new Error(`Failed to read the signing key "${path}": the file is unreadable (${code})`);
  });
  const key = ((): KeyObject | undefined => {
    try {
      return createPrivateKey(pem);
    } catch {
      return undefined; // The error is dropped, because its text could quote the key.
    }
  })();
  if (key?.asymmetricKeyDetails?.namedCurve !== "prime256v1") {
    throw new Error(`Failed to read the signing key "${path}": it is not an unencrypted ECDSA key on P-256 in PEM`);
  }
  return key;
}

/** Writes NAME.sig for a file, as `cosign verify-blob --signature` reads it; returns the name. */
export async function signFile(folder: string, name: string, key: KeyObject): Promise<string> {
  return await writeSignature(folder, name, signatureOf(await readFile(join(folder, name)), key));
}

/**
 * Writes the signed envelope (DSSE) of a statement, as `cosign verify-blob-attestation --signature` reads it; returns
 * the name.
 */
export async function signStatement(folder: string, name: string, key: KeyObject): Promise<string> {
  const payload = await readFile(join(folder, name));
  const signed = Buffer.concat([
    Buffer.from(`DSSEv1 ${payloadType.length} ${payloadType} ${payload.length} `),
    payload,
  ]);
  const envelope = {
    ...{ payloadType, payload: payload.toString("base64") },
    signatures: [{ keyid: "", sig: signatureOf(signed, key) }],
  };
  const enveloped = name.replace(/\.json$/, ".dsse.json");
  await writeFile(join(folder, enveloped), `${JSON.stringify(envelope)}\n`);
  return enveloped;
}

/**
 * Writes payload and signature of an image archive, which `cosign attach signature` puts beside the image in a
 * registry; returns their names.
 */
export async function signImage(folder: string, archive: string, key: KeyObject): Promise<string[]> {
  const index = await run("tar", ["--extract", "--to-stdout", `--file=${join(folder, archive)}`, "index.json"]);
  const { manifests: [manifest] } = JSON.parse(index);
  const payload = {
    critical: {
      identity: { "docker-reference": "" },
      image: { "docker-manifest-digest": manifest.digest },
      type: "cosign container image signature",
    },
    optional: null,
  };
  const name = archive.replace(/\.tar$/, ".cosign.json");
  await writeFile(join(folder, name), JSON.stringify(payload));
  return [name, await signFile(folder, name, key)];
}

async function writeSignature(folder: string, name: string, signature: string): Promise<string> {
  await writeFile(join(folder, `${name}.sig`), signature);
  return `${name}.sig`;
}

function signatureOf(bytes: Uint8Array, key: KeyObject): string {
  return sign("sha256", bytes, key).toString("base64");
}
