import { deepEqual, equal } from "node:assert/strict";
import { installDefaultProfiles } from "../../../workers/default_profiles.ts";
import { FakeKube } from "../../support/fake_kube.ts";

function profile(kube: FakeKube): Record<string, unknown> {
  return kube.get("operatingsystemprofiles", "osp-ubuntu", "kube-system")?.["spec"] as Record<string, unknown>;
}

Deno.test("installDefaultProfiles installs what is missing, once", async () => {
  const kube = new FakeKube();
  await installDefaultProfiles(kube.client, "kube-system");
  equal(profile(kube)["osName"], "ubuntu");
  kube.writes.length = 0;
  await installDefaultProfiles(kube.client, "kube-system");
  deepEqual(kube.writes, []);
});

Deno.test("installDefaultProfiles leaves an edit of the same version alone and replaces another version", async () => {
  const kube = new FakeKube();
  await installDefaultProfiles(kube.client, "kube-system");
  const version = profile(kube)["version"];
  const metadata = { namespace: "kube-system", name: "osp-ubuntu" };
  kube.put("operatingsystemprofiles", { metadata, spec: { ...profile(kube), osVersion: "edited" } });
  await installDefaultProfiles(kube.client, "kube-system");
  equal(profile(kube)["osVersion"], "edited");
  const of = { ...profile(kube), version: "0.0.1", modules: { runcmd: ["theirs"] } };
  kube.put("operatingsystemprofiles", { metadata: { ...metadata, labels: { mine: "yes" } }, spec: of });
  await installDefaultProfiles(kube.client, "kube-system");
  equal(profile(kube)["version"], version);
  equal(profile(kube)["modules"], undefined);
  deepEqual(kube.get("operatingsystemprofiles", "osp-ubuntu", "kube-system")?.metadata.labels, { mine: "yes" });
});
