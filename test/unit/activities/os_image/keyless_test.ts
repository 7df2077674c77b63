/**
 * Tests which keyless signatures are accepted, with a registry, a certificate authority and a transparency log in
 * memory.
 */
import { equal, match } from "node:assert/strict";
import { Buffer } from "node:buffer";
// Must come before the import of @peculiar/x509, which does not load without this module.
import "../../../../activities/x509/reflection.ts";
import * as x509 from "@peculiar/x509";
import { json } from "../../../support/images/fake_registry.ts";
import { makeAuthority, rsa, utf8String } from "../../../support/images/fulcio.ts";
import { bundleType, type Changes, type KeylessLayer, workflow } from "../../../support/images/keyless_signer.ts";
import { type KeylessScene, onKeylessScene } from "../../../support/images/keyless_scene.ts";
import { Rekor } from "../../../support/images/rekor.ts";
import { Signer } from "../../../support/images/signer.ts";

const hour = 3_600_000;
const { issuer, subject } = workflow;

Deno.test("A15 keyless: accepts a signature of a configured identity, confirmed by the certificate authority and the log, also after its certificate has expired", async () => {
  await onKeylessScene(async ({ image, sigstore, admission, judgeWith }) => {
    equal(await admission.judge(), "SignatureMissing");
    const at = Date.now() - 24 * hour;
    equal(await judgeWith(await sigstore.layer(image.digest, { at, facts: { at } })), "Accepted");
    equal(admission.object.status?.signedBy, `${issuer} ${subject}`);
  });
});

Deno.test("keyless: accepts a bundle with its certificate chain, or without the chain if the spec has the intermediate certificate", async () => {
  await onKeylessScene(async ({ image, sigstore, admission, spec, judgeWith }) => {
    const bundled = async (changes?: Changes): Promise<string> =>
      await judgeWith({ mediaType: bundleType, bytes: json(await sigstore.bundle(image.digest, changes)) });
    equal(await bundled(), "Accepted");
    equal(await bundled({ chain: [] }), "SignatureInvalid");
    match(admission.message, /does not chain to any of the spec's roots/);
    admission.ask({ ...spec, keyless: { ...spec.keyless, roots: [sigstore.root.pem, sigstore.intermediate.pem] } });
    equal(await bundled({ chain: [] }), "Accepted");
  });
});

Deno.test("keyless: accepts an email address as identity, and the issuer extension of older certificates", async () => {
  await onKeylessScene(async ({ image, sigstore, admission, spec, judgeWith }) => {
    const holder = { issuer: "https://accounts.example", subject: "release@acme.example" };
    admission.ask({ ...spec, keyless: sigstore.trust(workflow, holder) });
    const issuerExtensions = { "1.3.6.1.4.1.57264.1.1": Buffer.from(holder.issuer) };
    equal(await judgeWith(await sigstore.layer(image.digest, { holder, facts: { issuerExtensions } })), "Accepted");
    equal(admission.object.status?.signedBy, "https://accounts.example release@acme.example");
  });
});

Deno.test("keyless: accepts a signature by a key or by an identity when the spec has both", async () => {
  await onKeylessScene(async ({ image, sigstore, admission, spec, judgeWith }) => {
    const signer = new Signer();
    admission.ask({ ...spec, keys: [signer.pem] });
    equal(await judgeWith(signer.layer(image.digest)), "Accepted");
    equal(await judgeWith(await sigstore.layer(image.digest)), "Accepted");
    equal(await judgeWith(new Signer().layer(image.digest)), "SignatureInvalid");
    admission.ask({ reference: spec.reference, keys: [signer.pem] });
    equal(await judgeWith(await sigstore.layer(image.digest)), "SignatureInvalid");
  });
});

Deno.test("keyless: accepts a certificate of an RSA authority with SHA-256, and refuses one with SHA-1", async () => {
  await onKeylessScene(async ({ image, sigstore, admission, spec, judgeWith }) => {
    for (const [hash, reason] of [["SHA-1", "SignatureInvalid"], ["SHA-256", "Accepted"]] as const) {
      const authority = await makeAuthority("rsa", { algorithm: rsa(hash) });
      admission.ask({ ...spec, keyless: { ...spec.keyless, roots: [sigstore.root.pem, authority.pem] } });
      equal(await judgeWith(await sigstore.layer(image.digest, { authority, chain: [] })), reason);
    }
  });
});

type Refusal = [what: string, make: (scene: KeylessScene) => Promise<KeylessLayer>, words: RegExp];

const changed = (
  what: string,
  changes: (scene: KeylessScene) => Changes | Promise<Changes>,
  words: RegExp,
): Refusal => [
  what,
  async (scene) => await scene.sigstore.layer(scene.image.digest, await changes(scene)),
  words,
];

const theirs = { issuer: "https://gitlab.example", subject: "https://gitlab.example/acme/os" };
const unchained = /does not chain to any of the spec's roots, or was not valid/;

const refusals: Refusal[] = [
  changed(
    "of another subject",
    () => ({ holder: { issuer, subject: `${subject}x` } }),
    /was signed by "https:.*mainx" \(issuer/,
  ),
  changed(
    "of another issuer",
    () => ({ holder: { issuer: "https://else.example", subject } }),
    /"https:\/\/else.example"/,
  ),
  changed("with the issuer of one identity and the subject of another", ({ admission, sigstore, spec }) => {
    admission.ask({ ...spec, keyless: sigstore.trust(workflow, theirs) });
    return { holder: { issuer, subject: theirs.subject } };
  }, /was signed by "https:\/\/gitlab.example\/acme\/os" \(issuer "https:\/\/token/),
  changed("with one name that looks like two", () => ({
    facts: { names: [{ type: "url", value: `https://a.example, URI:${subject}` }] },
  }), /was signed by "https:\/\/a.example, URI/),
  changed("with two names", () => ({
    facts: { names: [{ type: "url", value: subject }, { type: "email", value: "a@b.example" }] },
  }), /does not name exactly one identity/),
  changed("with a name of another type", () => ({
    facts: { names: [{ type: "dns", value: subject }] },
  }), /does not name exactly one identity/),
  changed("whose new and old issuer extensions differ", () => ({
    facts: {
      issuerExtensions: {
        "1.3.6.1.4.1.57264.1.1": Buffer.from(issuer),
        "1.3.6.1.4.1.57264.1.8": utf8String("https://else.example"),
      },
    },
  }), /\(issuer "https:\/\/else.example"\)/),
  changed("with an issuer that is not text", () => ({
    facts: { issuerExtensions: { "1.3.6.1.4.1.57264.1.8": Buffer.from(issuer) } },
  }), /does not name exactly one identity/),
  changed("of an unknown authority", async () => {
    const root = await makeAuthority("root");
    return { authority: root, chain: [root] };
  }, unchained),
  changed("that was expired when the log recorded it", () => ({ at: Date.now() + hour }), unchained),
  changed("that was not yet valid when the log recorded it", () => ({ at: Date.now() - hour }), unchained),
  changed("of an expired intermediate", async ({ sigstore: { root } }) => {
    const authority = await makeAuthority("late", { by: root, from: 0, until: hour });
    return { authority, chain: [authority] };
  }, unchained),
  changed("that the owner of another leaf certificate issued", async ({ sigstore: { root } }) => {
    const authority = await makeAuthority("no authority", { by: root, isAuthority: false });
    return { authority, chain: [authority] };
  }, unchained),
  changed("of an authority that may not sign certificates", async ({ sigstore: { root } }) => {
    const authority = await makeAuthority("other", { by: root, usages: x509.KeyUsageFlags.digitalSignature });
    return { authority, chain: [authority] };
  }, unchained),
  changed("of an authority for TLS servers", async ({ sigstore: { root } }) => {
    const authority = await makeAuthority("tls", { by: root, purposes: ["1.3.6.1.5.5.7.3.1"] });
    return { authority, chain: [authority] };
  }, unchained),
  changed("of an intermediate below an authority with path length 0", async ({ sigstore: { intermediate } }) => {
    const authority = await makeAuthority("below", { by: intermediate });
    return { authority, chain: [authority, intermediate] };
  }, unchained),
  changed("for servers", () => ({ facts: { purposes: ["1.3.6.1.5.5.7.3.1"] } }), /is not for signing code/),
  changed("that may sign certificates", () => ({
    facts: { usages: x509.KeyUsageFlags.keyCertSign },
  }), /is not for signing code/),
  changed("of an authority itself", () => ({ facts: { isAuthority: true } }), /is not for signing code/),
  changed("with an unknown critical extension", () => ({
    facts: { extensions: [new x509.Extension("1.3.6.1.4.1.11129.2.4.3", true, Buffer.from("0500", "hex"))] },
  }), /cannot be read/),
  changed("with a repeated extension", () => ({
    facts: { extensions: [new x509.Extension("1.3.6.1.4.1.57264.1.8", false, Buffer.from(utf8String(issuer)))] },
  }), /cannot be read/),
  changed("that another log saw", () => ({ log: new Rekor() }), /not signed by any of the spec's transparency logs/),
];

for (const [what, make, words] of refusals) {
  Deno.test(`A15 keyless: refuses an image whose signature has a certificate ${what}`, async () => {
    await onKeylessScene(async (scene) => {
      const layer = await make(scene);
      equal(await scene.judgeWith(layer), "SignatureInvalid");
      match(scene.admission.message, words);
    });
  });
}
