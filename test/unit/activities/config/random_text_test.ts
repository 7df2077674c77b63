import { equal, match, notEqual } from "node:assert/strict";
import { publishConfig } from "../../../../activities/config/publish_config.ts";
import { renderConfig } from "../../../support/rendered.ts";
import { closeTemplateEngines } from "../../../../profiles/mod.ts";
import type { FakeKube } from "../../../support/fake_kube.ts";
import { pool } from "../../../support/machine_objects.ts";
import {
  makeDue,
  publisher,
  publishingKube,
  putProfile,
  putSeed,
  seed,
  textOf,
} from "../../../support/publishing_kube.ts";

Deno.test.afterAll(() => closeTemplateEngines());

async function randomKube(): Promise<FakeKube> {
  const kube = await publishingKube();
  const bootstrap = `{{ randAlphaNum 20 }} {{ genPrivateKey "ecdsa" }}{{ toJson . }}{{ toJson .Parameters }}`;
  putProfile(kube, { templating: "go", bootstrap });
  return kube;
}

/** Publishes; returns the random text and the key of machines, and everything that people see. */
async function publish(kube: FakeKube): Promise<{ random: string; key: string; seen: string }> {
  const rendering = await renderConfig(publisher(kube), pool);
  const { configDigest } = rendering;
  const publication = await publishConfig(publisher(kube), { pool, revision: "1", configDigest });
  const userData = textOf(kube, "pool-fleet-bootstrap-config");
  equal(userData.includes(seed), false);
  const [, random = "", key = ""] = /(\w{20}) -----BEGIN EC PRIVATE KEY-----\s+(\S+)/.exec(userData) ?? [];
  match(`${random} ${key}`, /^\w{20} \S{64}$/, userData);
  const annotations = kube.all("secrets").map(({ metadata }) => metadata);
  const seen = JSON.stringify([rendering, publication, annotations, kube.all("operatingsystemconfigs")]);
  return { random, key, seen };
}

Deno.test("publishConfig: shows neither the seed nor the random text and keys of machines", async () => {
  const { random, key, seen } = await publish(await randomKube());
  match(seen, /BEGIN EC PRIVATE KEY/);
  for (const secret of [seed, random, key]) equal(seen.includes(secret), false, secret);
});

Deno.test("publishConfig: gives the same random text at each renewal", async () => {
  const kube = await randomKube();
  const { random, key } = await publish(kube);
  makeDue(kube, "pool-fleet-bootstrap-config");
  kube.writes.length = 0;
  const renewed = await publish(kube);
  equal(kube.writes.some((write) => write.endsWith("secrets cloud-init-settings/pool-fleet-bootstrap-config")), true);
  equal(`${renewed.random} ${renewed.key}`, `${random} ${key}`);
});

Deno.test("publishConfig: gives each installation different random text", async () => {
  const [here, there] = [await randomKube(), await randomKube()];
  putSeed(there, "another seed");
  const [one, other] = [await publish(here), await publish(there)];
  notEqual(one.random, other.random);
  notEqual(one.key, other.key);
});
