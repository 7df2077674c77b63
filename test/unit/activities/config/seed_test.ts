import { Buffer } from "node:buffer";
import { equal, match, notEqual, rejects } from "node:assert/strict";
import { ensureSeed } from "../../../../activities/config/read_facts.ts";
import { attempting } from "../../../../activities/kube/status.ts";
import { answer, FakeKube } from "../../../support/fake_kube.ts";
import { putSeed } from "../../../support/publishing_kube.ts";

function storedSeed(kube: FakeKube): string {
  const { seed = "" } = kube.get("secrets", "ostler-seed", "kube-system")?.["data"] as Record<string, string>;
  return Buffer.from(seed, "base64").toString();
}

Deno.test("ensureSeed: makes 32 random bytes when the seed does not exist, and keeps them", async () => {
  const kube = new FakeKube();
  const seed = await ensureSeed(kube.client);
  equal(Buffer.from(seed, "base64").length, 32);
  equal(storedSeed(kube), seed);
  equal(await ensureSeed(kube.client), seed);
  equal(kube.writes.join(), "create secrets kube-system/ostler-seed");
});

Deno.test("ensureSeed: makes another seed when the first one was deleted", async () => {
  const kube = new FakeKube();
  const seed = await ensureSeed(kube.client);
  kube.remove("secrets", "ostler-seed", "kube-system");
  notEqual(await ensureSeed(kube.client), seed);
});

Deno.test("ensureSeed: uses the seed of a faster process", async () => {
  const kube = new FakeKube();
  kube.onRequest = (request) => {
    if (request.startsWith("create")) putSeed(kube, "the faster one");
  };
  equal(await ensureSeed(kube.client), "the faster one");
});

Deno.test("ensureSeed: returns the same seed to concurrent callers", async () => {
  const kube = new FakeKube();
  const seeds = await Promise.all(Array.from({ length: 5 }, () => ensureSeed(kube.client)));
  equal(new Set(seeds).size, 1);
  equal(storedSeed(kube), seeds[0]);
});

Deno.test("ensureSeed: fails when the secret has no seed, and makes none", async () => {
  const kube = new FakeKube();
  putSeed(kube, "");
  await rejects(ensureSeed(kube.client), {
    type: "CredentialsMissing",
    message: 'Failed to read Secret "kube-system/ostler-seed": key "seed" is missing or empty',
  });
  equal(kube.writes.length, 0);
});

Deno.test("ensureSeed: shows no seed that the API server repeats", async () => {
  for (const code of [400, 422, 500]) {
    const kube = new FakeKube();
    let sent = "";
    const create = kube.client.core.createNamespacedSecret;
    const client = { ...kube.client };
    client.core = new Proxy(client.core, {
      get: (target, method) =>
        method !== "createNamespacedSecret" ? Reflect.get(target, method) : (request: Parameters<typeof create>[0]) => {
          sent = request.body.stringData?.["seed"] ?? "";
          return Promise.reject(answer(code, "Invalid", `not "${sent}"`));
        },
    });
    const error = await attempting("render", () => ensureSeed(client)).then(() => undefined, (error) => error);
    match(String(error), /Failed to render: HTTP/);
    equal(sent.length, 44);
    equal([error.message, error.stack, JSON.stringify(error)].some((text) => text.includes(sent)), false);
  }
});
