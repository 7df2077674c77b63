/** The status of an OSImage after each finding, and what a pool reads from this status. */
import { deepEqual, equal } from "node:assert/strict";
import { acceptedImageOf, readAcceptedImage } from "../../../../activities/os_image/accepted_image.ts";
import { ensureImageTold } from "../../../../activities/os_image/tell_image.ts";
import { OSImage } from "../../../../activities/kube/os_images.ts";
import type { ImageFinding } from "../../../../workflows/contracts/mod.ts";
import { answer, FakeKube } from "../../../support/fake_kube.ts";

const object = { name: "a" };
const start = Date.parse("2026-11-01T00:00:00Z");
const signedBy = `sha256:${"a".repeat(64)}`;
const digestOf = (nth: number): string => `sha256:${String(nth).padStart(64, "0")}`;

function kubeWith(generation = 1): FakeKube {
  const kube = new FakeKube();
  const spec = { reference: "registry.example/os:v1", keys: ["a"] };
  kube.put("osimages", { metadata: { ...object, generation, creationTimestamp: "2026-01-01T00:00:00Z" }, spec });
  return kube;
}

function edit(kube: FakeKube, generation: number): void {
  const { metadata, ...rest } = kube.get("osimages", "a") ?? { metadata: object };
  kube.put("osimages", { ...rest, metadata: { ...metadata, generation } });
}

function accepted(nth: number, generation = 1): ImageFinding {
  const digest = digestOf(nth);
  const image = { generation, repository: "registry.example/os", digest, indexDigest: digestOf(nth + 500) };
  return { state: "Accepted", image, evidence: { signedBy, signed: digest } };
}

const refused: ImageFinding = {
  ...{ state: "Refused", reason: "SignatureMissing", message: "No signature is attached", generation: 1 },
  image: { generation: 1, repository: "registry.example/os", digest: digestOf(99) },
};
const away: ImageFinding = { state: "Unknown", reason: "RegistryUnreachable", message: "no response" };

function tell(kube: FakeKube, finding: ImageFinding, minutes = 0): ReturnType<typeof ensureImageTold> {
  return ensureImageTold(kube.client, { object, finding }, start + minutes * 60_000);
}

function read(kube: FakeKube): OSImage {
  return OSImage.parse(kube.get("osimages", "a"));
}

function standing(kube: FakeKube): (string | undefined)[] {
  const { status } = read(kube);
  const said = (type: string): string | undefined => status?.conditions.find((each) => each.type === type)?.status;
  return [said("Accepted"), said("Reachable"), acceptedImageOf("a", read(kube)).state];
}

Deno.test("ensureImageTold: writes only changes, and keeps the transition time of a condition whose status is unchanged", async () => {
  const kube = kubeWith();
  equal(await tell(kube, accepted(1)), "Told");
  await tell(kube, accepted(1), 5);
  equal(kube.writes.length, 1);
  await tell(kube, accepted(2), 7);
  const { conditions = [], history = [] } = read(kube).status ?? {};
  equal(conditions.find(({ type }) => type === "Accepted")?.lastTransitionTime, new Date(start).toISOString());
  deepEqual(history.map(({ acceptedAt }) => Date.parse(acceptedAt) - start), [7 * 60_000, 0]);
});

Deno.test("ensureImageTold: keeps the last ten digests, each once and the newest first", async () => {
  const kube = kubeWith();
  for (let nth = 1; nth <= 12; nth++) await tell(kube, accepted(nth), nth);
  await tell(kube, accepted(5), 20);
  const { history = [] } = read(kube).status ?? {};
  deepEqual(history.map(({ digest }) => digest), [5, 12, 11, 10, 9, 8, 7, 6, 4, 3].map(digestOf));
  deepEqual(history.map(({ indexDigest }) => indexDigest)[0], digestOf(505));
});

Deno.test("ensureImageTold: when an image is refused, clears the index digest and the signer of its previous result, and keeps the history", async () => {
  const kube = kubeWith();
  await tell(kube, accepted(1));
  await tell(kube, refused);
  const { digest, indexDigest, signedBy: signer, history = [] } = read(kube).status ?? {};
  deepEqual([digest, indexDigest, signer, history.length], [digestOf(99), undefined, undefined, 1]);
  deepEqual(standing(kube), ["False", "True", "Refused"]);
});

Deno.test("ensureImageTold: keeps an image accepted while its registry is unreachable, and sets Accepted=Unknown for an image without a result", async () => {
  const kube = kubeWith();
  await tell(kube, away);
  deepEqual(standing(kube), ["Unknown", "False", "Waiting"]);
  await tell(kube, accepted(1));
  await tell(kube, away);
  deepEqual(standing(kube), ["True", "False", "Accepted"]);
  await tell(kube, accepted(1));
  deepEqual(standing(kube), ["True", "True", "Accepted"]);
});

Deno.test("ensureImageTold: keeps the result of the previous spec while the registry is unreachable, and pools wait for the result of the new spec", async () => {
  const kube = kubeWith();
  await tell(kube, accepted(1));
  edit(kube, 2);
  deepEqual(standing(kube), ["True", "True", "Waiting"]);
  await tell(kube, away);
  deepEqual(standing(kube), ["True", "False", "Waiting"]);
  await tell(kube, { ...refused, generation: 2 } as ImageFinding);
  deepEqual(standing(kube), ["False", "True", "Refused"]);
});

Deno.test("readAcceptedImage: does not use the result of an older spec", async () => {
  const kube = kubeWith(2);
  await tell(kube, accepted(1, 1));
  deepEqual(acceptedImageOf("a", read(kube)), {
    ...{ state: "Waiting", reason: "NotEvaluated" },
    message: 'OSImage "a" is not accepted yet: its generation 2 is not verified yet',
  });
  await tell(kube, accepted(1, 2));
  deepEqual(acceptedImageOf("a", read(kube)), { state: "Accepted", image: "registry.example/os", digest: digestOf(1) });
});

Deno.test("ensureImageTold: does not write the result of a deleted object into a new one with its name and generation", async () => {
  const kube = kubeWith();
  const { state, image, evidence } = accepted(1) as Extract<ImageFinding, { state: "Accepted" }>;
  equal(await tell(kube, { state, evidence, image: { ...image, uid: "uid-of-the-deleted" } }), "Gone");
  deepEqual([kube.writes, standing(kube)[2]], [[], "Waiting"]);
  equal(await tell(kube, { state, evidence, image: { ...image, uid: "uid-of-a" } }), "Told");
  equal(standing(kube)[2], "Accepted");
});

Deno.test("ensureImageTold: is retried after a conflict, and succeeds when the object is deleted", async () => {
  const kube = kubeWith();
  kube.onRequest = (request) => {
    if (request.startsWith("patch")) throw answer(409, "Conflict");
  };
  const error = await tell(kube, accepted(1)).catch((error: unknown) => error);
  equal((error as { type?: string }).type, "ApiUnavailable");
  equal(await tell(new FakeKube(), accepted(1)), "Gone");
  kube.onRequest = (request) => {
    if (request.startsWith("patch")) throw answer(404, "NotFound");
  };
  equal(await tell(kube, accepted(1)), "Gone");
});

Deno.test("readAcceptedImage: reports an image that is missing or being deleted", async () => {
  const kube = kubeWith();
  await tell(kube, accepted(1));
  equal((await readAcceptedImage(kube.client, { object })).state, "Accepted");
  const found = kube.get("osimages", "a");
  equal(acceptedImageOf("a", undefined).state, "Missing");
  const going = { ...found, metadata: { ...found?.metadata, deletionTimestamp: "2026-11-01T00:00:00Z" } };
  equal(acceptedImageOf("a", OSImage.parse(going)).state, "Missing");
  equal((await readAcceptedImage(kube.client, { object: { name: "b" } })).state, "Missing");
});

Deno.test("ensureImageTold: sets no condition about the registry when the spec is invalid", async () => {
  const kube = kubeWith();
  await tell(kube, { state: "Refused", reason: "SpecInvalid", message: "spec.keys: a", generation: 1 });
  deepEqual(standing(kube), ["False", undefined, "Refused"]);
});

Deno.test("readAcceptedImage: returns Waiting for a status with Accepted=True but without a complete digest", () => {
  const kube = kubeWith();
  const conditions = [{
    ...{ type: "Accepted", status: "True", reason: "Accepted", message: "", observedGeneration: 1 },
    lastTransitionTime: "2026-11-01T00:00:00Z",
  }];
  for (const digest of [undefined, "v1", "sha256:1"]) {
    const status = { repository: "registry.example/os", conditions, ...(digest === undefined ? {} : { digest }) };
    equal(acceptedImageOf("a", OSImage.parse({ ...kube.get("osimages", "a"), status })).state, "Waiting");
  }
});
