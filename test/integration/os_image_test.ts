/** An OSImage through all parts: API server, controller, Temporal, worker, a real registry and real signatures. */
import assert from "node:assert/strict";
import type { ImageCondition, OSImageStatus } from "../../activities/kube/os_images.ts";
import { Cosign } from "../support/images/cosign.ts";
import { Sigstore, workflow } from "../support/images/keyless_signer.ts";
import { pushImage } from "../support/images/made_image.ts";
import { RegistryServer } from "../support/images/registry_server.ts";
import { SigstoreServer } from "../support/images/sigstore_server.ts";
import { testInWorld } from "./shared_world.ts";
import type { World } from "./world.ts";

const apiVersion = "ostler.dev/v1alpha1";
const images = `/apis/${apiVersion}/osimages`;
const path = "os/debian";

interface Seen {
  metadata: { generation: number };
  status?: Partial<OSImageStatus>;
}

interface Scene {
  world: World;
  registry: RegistryServer;
  cosign: Cosign;
  reference: string;
  key: string;
}

const stories: [name: string, story: (scene: Scene) => Promise<void>][] = [
  ["A15 an unsigned image is refused, and accepted on request once it is signed", isSigned],
  ["an image is refused when the spec names another key, and accepted again with the first key", changesKeys],
  [
    "a tag that moves to a new digest changes nothing until a check is requested; the previous digest stays in the history",
    moves,
  ],
  ["the provenance of an image is in its status", isAttested],
  ["A15 an image that was signed without a key is accepted only if the spec names its signer's identity", isKeyless],
  [
    "while the registry is down an accepted image stays accepted, and condition Accepted of a new image is Unknown",
    isAway,
  ],
  ["the API server refuses an invalid spec", isChecked],
];

const title = "A15 OSImage: the status shows whether a key or an identity of the spec has signed the image";

testInWorld(title, {}, async (world, t) => {
  await using registry = await RegistryServer.start();
  await using cosign = await Cosign.open();
  const key = await cosign.makeKey("ours");
  const scene = { world, registry, cosign, key, reference: `${registry.host}/${path}:v1` };
  for (const [name, story] of stories) await t.step(name, () => story(scene));
});

async function isSigned({ world, registry, cosign, reference, key }: Scene): Promise<void> {
  const { digest, manifests } = await pushImage(registry.host, path, "v1", { content: "1" });
  await world.create(images, {
    apiVersion,
    kind: "OSImage",
    metadata: { name: "a" },
    spec: { reference, keys: [key] },
  });
  await stands(world, "a", "SignatureMissing");
  await cosign.sign("ours", `${registry.host}/${path}@${digest}`);
  await ask(world, "a");
  const { status } = await stands(world, "a", "Accepted");
  assert.equal(status?.digest, manifests["linux/amd64"]);
}

async function changesKeys({ world, cosign, key }: Scene): Promise<void> {
  await world.patch(`${images}/a`, { spec: { keys: [await cosign.makeKey("theirs")] } });
  await stands(world, "a", "SignatureInvalid");
  await world.patch(`${images}/a`, { spec: { keys: [key] } });
  await stands(world, "a", "Accepted");
}

async function moves({ world, registry, cosign }: Scene): Promise<void> {
  const before = (await stands(world, "a", "Accepted")).status?.digest;
  const { digest, manifests } = await pushImage(registry.host, path, "v1", { content: "2" });
  await cosign.sign("ours", `${registry.host}/${path}@${digest}`);
  assert.equal((await stands(world, "a", "Accepted")).status?.digest, before);
  await ask(world, "a");
  const { status } = await stands(world, "a", "Accepted");
  assert.equal(status?.digest, manifests["linux/amd64"]);
  assert.deepEqual(status?.history?.map((each) => each.digest), [manifests["linux/amd64"], before]);
}

async function isAttested({ world, registry, cosign, key }: Scene): Promise<void> {
  const created = "2026-01-01T00:00:00.000Z";
  const { digest } = await pushImage(registry.host, path, "v3", { content: "3", created });
  const image = `${registry.host}/${path}@${digest}`;
  await cosign.sign("ours", image);
  const required = { requireProvenance: {}, requireScan: {}, maxAge: "99999d" };
  const spec = { reference: `${registry.host}/${path}:v3`, keys: [key], ...required };
  await world.create(images, { apiVersion, kind: "OSImage", metadata: { name: "attested" }, spec });
  await stands(world, "attested", "ProvenanceMissing");
  const builder = { id: "https://builder.example" };
  const buildDefinition = { buildType: "mkosi", externalParameters: {} };
  await cosign.attest("ours", image, {
    type: "slsaprovenance1",
    predicate: { buildDefinition, runDetails: { builder } },
  });
  const metadata = { scanStartedOn: created, scanFinishedOn: created };
  await cosign.attest("ours", image, { type: "vuln", predicate: { scanner: { uri: "a" }, metadata } });
  await ask(world, "attested");
  const { status } = await stands(world, "attested", "Accepted");
  assert.deepEqual([status?.created, status?.indexDigest, status?.signedDigest], [created, digest, digest]);
  const { signedBy } = status ?? {};
  const provenance = { predicateType: "https://slsa.dev/provenance/v1", builder: builder.id, buildType: "mkosi" };
  assert.deepEqual(status?.provenance, { ...provenance, signedBy });
  const scan = {
    predicateType: "https://cosign.sigstore.dev/attestation/vuln/v1",
    finishedOn: "2026-01-01T00:00:00Z",
  };
  assert.deepEqual(status?.scan, { ...scan, signedBy });
}

async function isKeyless({ world, registry, cosign }: Scene): Promise<void> {
  const sigstore = await Sigstore.open();
  await using server = new SigstoreServer(sigstore);
  const { digest } = await pushImage(registry.host, path, "v4", { content: "4" });
  const other = { ...workflow, subject: `${workflow.subject}-of-another-branch` };
  await cosign.signKeyless({ server, holder: other }, `${registry.host}/${path}@${digest}`);
  const spec = { reference: `${registry.host}/${path}:v4`, keyless: sigstore.trust(workflow) };
  await world.create(images, { apiVersion, kind: "OSImage", metadata: { name: "keyless" }, spec });
  await stands(world, "keyless", "SignatureInvalid");
  await world.patch(`${images}/keyless`, { spec: { keyless: sigstore.trust(workflow, other) } });
  const { status } = await stands(world, "keyless", "Accepted");
  assert.equal(status?.signedBy, `${other.issuer} ${other.subject}`);
}

async function isAway({ world, registry, reference, key }: Scene): Promise<void> {
  await registry.goAway();
  await world.create(images, {
    apiVersion,
    kind: "OSImage",
    metadata: { name: "b" },
    spec: { reference, keys: [key] },
  });
  const away = world.temporal.workflow.getHandle("os-image/b");
  await world.until("its run", async () => (await away.describe().catch(() => undefined)) !== undefined);
  await ask(world, "a");
  const { status } = await stands(world, "a", "Accepted");
  assert.equal(conditionOf(status, "Reachable")?.reason, "RegistryUnreachable");
  await stands(world, "b", "RegistryUnreachable");
  await registry.comeBack();
  await ask(world, "b");
  await stands(world, "b", "Accepted");
}

async function isChecked({ world, reference, key }: Scene): Promise<void> {
  const refused: [spec: object, words: RegExp][] = [
    [{ reference, keys: [] }, /spec.keys/],
    [{ reference }, /keys or keyless is required/],
    [
      { reference, keyless: { roots: [key], transparencyLogs: [key], identities: [workflow] } },
      /spec.keyless.roots\[0\]/,
    ],
    [{ reference, keyless: { identities: [{ ...workflow, issuer: "a b" }] } }, /spec.keyless.identities\[0\].issuer/],
    [{ reference, keys: ["-----BEGIN PRIVATE KEY-----"] }, /spec.keys\[0\]/],
    [{ reference: "debian", keys: [key] }, /spec.reference/],
    [{ reference, keys: [key], platform: "linux" }, /spec.platform/],
    [{ reference, keys: [key], insecure: true, pullSecret: "a" }, /insecure and pullSecret are mutually exclusive/],
  ];
  for (const [spec, words] of refused) {
    const made = world.create(images, { apiVersion, kind: "OSImage", metadata: { name: "c" }, spec });
    await assert.rejects(made, words);
  }
}

/** Requests a verification as `ostler image admit` does, and waits for the verdict. */
async function ask(world: World, name: string): Promise<void> {
  const handle = await world.temporal.workflow.signalWithStart("admitImage", {
    ...{ workflowId: `os-image/${name}`, taskQueue: "ostler", args: [{ name }] },
    ...{ signal: "imageChanged", signalArgs: [] },
  });
  await handle.result();
}

function conditionOf(status: Seen["status"], type: string): ImageCondition | undefined {
  return status?.conditions?.find((each) => each.type === type);
}

/** Waits until the condition Accepted of the object's current spec has this reason. */
async function stands(world: World, name: string, reason: string): Promise<Seen> {
  let seen: Seen | undefined;
  await world.until(`${name} to be ${reason}`, async () => {
    seen = await world.get<Seen>(`${images}/${name}`);
    const accepted = conditionOf(seen?.status, "Accepted");
    return accepted?.reason === reason && accepted.observedGeneration === seen?.metadata.generation;
  });
  return seen ?? assert.fail();
}
