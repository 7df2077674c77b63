/** Changes that an attacker without a key can make to a valid keyless signature; Ostler accepts none of the results. */
import { equal, match } from "node:assert/strict";
import { Buffer } from "node:buffer";
// Must come before the import of @peculiar/x509, which does not load without this module.
import "../../../../activities/x509/reflection.ts";
import * as x509 from "@peculiar/x509";
import { annotation, bundleText, type KeylessLayer } from "../../../support/images/keyless_signer.ts";
import { type KeylessScene, onKeylessScene } from "../../../support/images/keyless_scene.ts";
import { hashedRekord } from "../../../support/images/rekor.ts";
import { Signer } from "../../../support/images/signer.ts";

const hour = 3_600_000;

/** Changes to a valid layer by an attacker without a key. */
const tampered: [
  what: string,
  change: (layer: KeylessLayer, scene: KeylessScene) => Promise<object> | object,
  RegExp,
][] = [
  [
    "with another payload",
    ({ bytes }) => ({ bytes: Buffer.concat([bytes, Buffer.from(" ")]) }),
    /was not signed by the key of its certificate/,
  ],
  ["without a certificate", (layer) => noted(layer, { [annotation.certificate]: undefined }), /No valid signature/],
  [
    "without a log entry",
    (layer) => noted(layer, { [annotation.bundle]: undefined }),
    /no log entry with an inclusion promise/,
  ],
  [
    "with an incomplete PEM as its certificate",
    (layer) => noted(layer, { [annotation.certificate]: "-----BEGIN CERTIFICATE-----\nA" }),
    /cannot be read/,
  ],
  [
    "with no certificate in the PEM",
    (layer) => noted(layer, { [annotation.chain]: pemOf(Buffer.from("3003020101", "hex")) }),
    /cannot be read/,
  ],
  [
    "with other text around the PEM",
    (layer, { sigstore }) => noted(layer, { [annotation.chain]: `words\n${sigstore.intermediate.pem}` }),
    /cannot be read/,
  ],
  ["with an incomplete JSON as its log entry", (layer) => noted(layer, { [annotation.bundle]: "{" }), /cannot be read/],
  [
    "with another JSON object as its log entry",
    (layer) => noted(layer, { [annotation.bundle]: '{"Payload":[]}' }),
    /cannot be read/,
  ],
  [
    "with too many certificates",
    (layer, { sigstore }) => noted(layer, { [annotation.chain]: sigstore.root.pem.repeat(5) }),
    /cannot be read/,
  ],
  [
    "with two certificates in its certificate annotation",
    (layer, { sigstore }) =>
      noted(layer, { [annotation.certificate]: `${layer.annotations[annotation.certificate]}\n${sigstore.root.pem}` }),
    /cannot be read/,
  ],
  [
    "with bytes after its certificate",
    (layer) =>
      noted(layer, {
        [annotation.certificate]: pemOf(Buffer.concat([certificateOf(layer), Buffer.from("0500", "hex")])),
      }),
    /cannot be read/,
  ],
  ["with another certificate before its own", async (layer, { sigstore, image }) => {
    const other = certificateOf(await sigstore.layer(image.digest));
    const text = Buffer.from(`\n${layer.annotations[annotation.certificate]}\n`);
    return noted(layer, { [annotation.certificate]: pemOf(Buffer.concat([other, text])) });
  }, /cannot be read/],
  ["with the certificate of another signature", async (layer, { sigstore, image }) => {
    const other = await sigstore.layer(image.digest);
    return noted(layer, { [annotation.certificate]: other.annotations[annotation.certificate] });
  }, /was not signed by the key of its certificate/],
  ["with the log entry of another signature", async (layer, { sigstore, image }) => {
    const other = await sigstore.layer(image.digest);
    return noted(layer, { [annotation.bundle]: other.annotations[annotation.bundle] });
  }, /for another signature/],
  [
    "with a logged entry of another payload",
    (layer, { sigstore }) =>
      noted(layer, {
        [annotation.bundle]: bundleText(sigstore.log.enter(entryOf(layer, { bytes: Buffer.from("b") }))),
      }),
    /for another signature/,
  ],
  [
    "with a logged entry of another certificate",
    (layer, { sigstore }) =>
      noted(layer, {
        [annotation.bundle]: bundleText(sigstore.log.enter(entryOf(layer, { certificate: sigstore.root.pem }))),
      }),
    /for another signature/,
  ],
  ["with a logged entry of another signature over the same payload", (layer, { sigstore }) => {
    const signature = new Signer().sign(layer.bytes);
    return noted(layer, { [annotation.bundle]: bundleText(sigstore.log.enter(entryOf(layer, { signature }))) });
  }, /for another signature/],
  ["with a body that the log did not sign", (layer, { sigstore }) => {
    const logged = sigstore.log.enter(entryOf(layer, { bytes: Buffer.from("b") }));
    const { body } = sigstore.log.enter(entryOf(layer, {}));
    return noted(layer, { [annotation.bundle]: bundleText({ ...logged, body }) });
  }, /not signed by any of the spec's transparency logs/],
  ["with another time than the log has signed", (layer, { sigstore }) => {
    const logged = sigstore.log.enter(entryOf(layer, {}), Date.now() + hour);
    return noted(layer, {
      [annotation.bundle]: bundleText({ ...logged, integratedTime: Math.floor(Date.now() / 1_000) }),
    });
  }, /not signed by any of the spec's transparency logs/],
];

function noted(layer: KeylessLayer, annotations: Record<string, string | undefined>): object {
  return { annotations: { ...layer.annotations, ...annotations } };
}

function certificateOf({ annotations }: KeylessLayer): Uint8Array {
  return new Uint8Array(new x509.X509Certificate(annotations[annotation.certificate] ?? "").rawData);
}

function pemOf(der: Uint8Array): string {
  return x509.PemConverter.encode(new Uint8Array(der), "CERTIFICATE");
}

interface Other {
  bytes?: Uint8Array;
  certificate?: string;
  signature?: string;
}

function entryOf({ bytes, annotations }: KeylessLayer, other: Other): object {
  const { [annotation.certificate]: certificate = "", "dev.cosignproject.cosign/signature": signature = "" } =
    annotations;
  return hashedRekord(other.bytes ?? bytes, { signature, certificate, ...other });
}

for (const [what, change, words] of tampered) {
  Deno.test(`A15 tampered signature: refuses an image whose signature comes ${what}`, async () => {
    await onKeylessScene(async (scene) => {
      const layer = await scene.sigstore.layer(scene.image.digest);
      equal(await scene.judgeWith({ ...layer, ...await change(layer, scene) }), "SignatureInvalid");
      match(scene.admission.message, words);
      equal(await scene.judgeWith(layer), "Accepted");
    });
  });
}
