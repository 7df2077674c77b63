import { equal, match, rejects } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { publishConfig } from "../../../../activities/config/publish_config.ts";
import { profileDigest } from "../../../../activities/config/observed.ts";
import { renewPublished } from "../../../../activities/config/renew_published.ts";
import { closeTemplateEngines } from "../../../../profiles/mod.ts";
import type { FakeKube } from "../../../support/fake_kube.ts";
import { pool } from "../../../support/machine_objects.ts";
import { makeDue, publisher, publishingKube, putProfile, textOf } from "../../../support/publishing_kube.ts";

Deno.test.afterAll(() => closeTemplateEngines());

function putPolicy(kube: FakeKube, name: string, spec: object): void {
  kube.put("rolloutpolicies", { metadata: { namespace: "fleet", name }, spec });
}

const publish = (kube: FakeKube): ReturnType<typeof publishConfig> =>
  publishConfig(publisher(kube), { pool, revision: "1" });

/** Returns the text that machines boot with. */
const booted = (kube: FakeKube): string => textOf(kube, "pool-fleet-provisioning-config");

/** Publishes a profile, and then changes that profile without publishing it again. */
async function changedAfterPublication(): Promise<FakeKube> {
  const kube = await publishingKube();
  putProfile(kube, { bootstrap: "<%= it.token %>", provisioning: "first" });
  await publish(kube);
  putProfile(kube, { bootstrap: "<%= it.token %>", provisioning: "second" });
  return kube;
}

function digestIn(message: string): string {
  return /sha256:[0-9a-f]{64}/.exec(message)?.[0] ?? "";
}

async function refusalOf(kube: FakeKube): Promise<string> {
  let message = "";
  await rejects(publish(kube), (error: Error) => {
    message = error.message;
    return (error as { type?: string }).type === "ProfileNotApproved";
  });
  return message;
}

Deno.test("fault S5: a changed profile is not published before a policy lists its digest, and machines boot the previous one", async () => {
  const kube = await changedAfterPublication();
  putPolicy(kube, "asks", { approvedProfiles: [] });
  const message = await refusalOf(kube);
  match(message, /RolloutPolicy "fleet\/asks" does not approve OperatingSystemProfile "[^"]+"; review its spec/);
  match(Buffer.from(booted(kube)).toString(), /first/);
  putPolicy(kube, "asks", { approvedProfiles: [digestIn(message)] });
  equal((await publish(kube)).news, "Published");
  match(booted(kube), /second/);
});

Deno.test("fault S5: the first profile of a pool needs an approval too, and a policy without a list requires no approval", async () => {
  const kube = await publishingKube();
  putPolicy(kube, "asks", { approvedProfiles: [], onProfileChange: "Nonsense" });
  await refusalOf(kube);
  putPolicy(kube, "asks", { onProfileChange: "Roll" });
  equal((await publish(kube)).news, "Published");
});

Deno.test("fault S5: every policy that selects the pool must approve, also a policy whose selector or list is unreadable", async () => {
  const kube = await publishingKube();
  for (const spec of [{ selector: { matchLabels: 1 }, approvedProfiles: [] }, { approvedProfiles: "all" }]) {
    putPolicy(kube, "asks", spec);
    await refusalOf(kube);
  }
  putPolicy(kube, "asks", { selector: { matchLabels: { no: "pool" } }, approvedProfiles: [] });
  equal((await publish(kube)).news, "Published");
});

Deno.test("fault S5: credentials of the published config are renewed while its profile waits for approval", async () => {
  const kube = await changedAfterPublication();
  putPolicy(kube, "asks", { approvedProfiles: [] });
  await refusalOf(kube);
  makeDue(kube, "pool-fleet-bootstrap-config");
  equal((await renewPublished(publisher(kube), pool)).news, "Renewed");
  match(booted(kube), /first/);
});

Deno.test("profileDigest: is the SHA-256 of compact JSON with sorted keys, whatever order the API server answers in", () => {
  const text = `{"a":[{"b":1,"c":"é"}],"version":"v1"}`;
  const digest = `sha256:${createHash("sha256").update(text).digest("hex")}`;
  equal(profileDigest({ version: "v1", a: [{ c: "é", b: 1 }] }), digest);
});
