/** The admission of images that cosign signs without a key, with a private authority and log, in a real registry. */
import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { Admission } from "../support/images/admission.ts";
import { Cosign, type signatureForms } from "../support/images/cosign.ts";
import { Sigstore, workflow } from "../support/images/keyless_signer.ts";
import { pushImage } from "../support/images/made_image.ts";
import { RegistryServer } from "../support/images/registry_server.ts";
import { SigstoreServer } from "../support/images/sigstore_server.ts";

const path = "os/debian";
const theirs = {
  issuer: workflow.issuer,
  subject: "https://github.com/theirs/os/.github/workflows/build.yml@refs/heads/main",
};
const signedBy = `${workflow.issuer} ${workflow.subject}`;

interface Scene {
  server: SigstoreServer;
  sigstore: Sigstore;
  cosign: Cosign;
  admission: Admission;
  /** Reference of the image by its digest. */
  image: string;
  spec: { reference: string; keyless: ReturnType<Sigstore["trust"]> };
}

async function onScene(run: (scene: Scene) => Promise<void>): Promise<void> {
  await using registry = await RegistryServer.start();
  await using cosign = await Cosign.open();
  const sigstore = await Sigstore.open();
  await using server = new SigstoreServer(sigstore);
  const { digest } = await pushImage(registry.host, path, "v1", { content: "1" });
  const [repository, admission] = [`${registry.host}/${path}`, new Admission()];
  const spec = { reference: `${repository}:v1`, keyless: sigstore.trust(workflow) };
  admission.ask(spec);
  await run({ server, sigstore, cosign, admission, spec, image: `${repository}@${digest}` });
}

for (const form of ["tag", "referrer", "bundle"] as (keyof typeof signatureForms)[]) {
  Deno.test(`A15 keyless admission: an image is refused until an identity of the spec has signed it with cosign; the signature is stored as ${form}`, async () => {
    await onScene(async ({ server, sigstore, cosign, admission, spec, image }) => {
      // A bundle of cosign 2 has no intermediate certificate, so the spec has to list it beside the root.
      const keyless = { ...spec.keyless, roots: [sigstore.intermediate.pem, sigstore.root.pem] };
      if (form === "bundle") admission.ask({ ...spec, keyless });
      equal(await admission.judge(), "SignatureMissing");
      await cosign.signKeyless({ server, holder: theirs }, image, form);
      equal(await admission.judge(), "SignatureInvalid");
      match(admission.message, /one was signed by "https:\/\/github.com\/theirs/);
      await cosign.signKeyless({ server, holder: workflow }, image, form);
      equal(await admission.judge(), "Accepted");
      equal(admission.object.status?.signedBy, signedBy);
      deepEqual(new Set(server.paths), new Set(["/api/v1/signingCert", "/api/v1/log/entries"]));
    });
  });
}

Deno.test("keyless admission: cosign verifies the signature that Ostler accepts, and rejects it for another identity, or for another authority and log", async () => {
  await onScene(async ({ server, cosign, admission, image }) => {
    await cosign.signKeyless({ server, holder: workflow }, image);
    equal(await admission.judge(), "Accepted");
    await cosign.verifyKeyless(server.sigstore, workflow, image);
    await rejects(cosign.verifyKeyless(server.sigstore, theirs, image), /none of the expected identities matched/);
    await rejects(cosign.verifyKeyless(await Sigstore.open(), workflow, image));
  });
});

Deno.test("A15 keyless admission: a signature is invalid if its certificate authority or its transparency log is not one that the spec trusts", async () => {
  await onScene(async ({ server, cosign, admission, spec, image }) => {
    const other = (await Sigstore.open()).trust(workflow);
    await cosign.signKeyless({ server, holder: workflow }, image);
    admission.ask({ ...spec, keyless: { ...spec.keyless, roots: other.roots } });
    equal(await admission.judge(), "SignatureInvalid");
    admission.ask({ ...spec, keyless: { ...spec.keyless, transparencyLogs: other.transparencyLogs } });
    equal(await admission.judge(), "SignatureInvalid");
    admission.ask(spec);
    equal(await admission.judge(), "Accepted");
  });
});

for (const entry of ["dsse", "intoto"] as const) {
  Deno.test(`keyless admission: provenance is accepted if an identity of the spec signed it, with a log entry of type ${entry}`, async () => {
    await onScene(async ({ server, cosign, admission, spec, image }) => {
      const buildDefinition = { buildType: "mkosi", externalParameters: {} };
      const predicate = { buildDefinition, runDetails: { builder: { id: "https://builder.example" } } };
      const said = { type: "slsaprovenance1", predicate };
      admission.ask({ ...spec, requireProvenance: {} });
      await cosign.signKeyless({ server, holder: workflow }, image);
      await cosign.attestKeyless({ server, holder: theirs, entry }, image, said);
      equal(await admission.judge(), "ProvenanceInvalid");
      await cosign.attestKeyless({ server, holder: workflow, entry }, image, said);
      equal(await admission.judge(), "Accepted");
      equal(admission.object.status?.provenance?.signedBy, signedBy);
    });
  });
}
