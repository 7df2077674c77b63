import { deepEqual, equal, match } from "node:assert/strict";
import { installDefaultProfiles } from "../../../workers/controller.ts";
import { FakeKube } from "../../support/fake_kube.ts";

const lines: [string, unknown][] = [];
const log = { info: (line: string, of?: object) => void lines.push([line, of]) };

function profile(kube: FakeKube): Record<string, unknown> {
  return kube.get("operatingsystemprofiles", "osp-ubuntu", "kube-system")?.["spec"] as Record<string, unknown>;
}

Deno.test("installDefaultProfiles: installs missing profiles, and writes nothing on the next run", async () => {
  const kube = new FakeKube();
  await installDefaultProfiles(kube.client, "kube-system", log);
  equal(profile(kube)["osName"], "ubuntu");
  kube.writes.length = 0;
  await installDefaultProfiles(kube.client, "kube-system", log);
  deepEqual(kube.writes, []);
});

Deno.test("installDefaultProfiles: keeps an edited profile of the same version, and replaces a profile of an older version", async () => {
  const kube = new FakeKube();
  await installDefaultProfiles(kube.client, "kube-system", log);
  const version = profile(kube)["version"];
  const metadata = { namespace: "kube-system", name: "osp-ubuntu" };
  kube.put("operatingsystemprofiles", { metadata, spec: { ...profile(kube), osVersion: "edited" } });
  await installDefaultProfiles(kube.client, "kube-system", log);
  equal(profile(kube)["osVersion"], "edited");
  const of = { ...profile(kube), version: "0.0.1", modules: { runcmd: ["theirs"] } };
  kube.put("operatingsystemprofiles", { metadata: { ...metadata, labels: { mine: "yes" } }, spec: of });
  await installDefaultProfiles(kube.client, "kube-system", log);
  equal(profile(kube)["version"], version);
  equal(profile(kube)["modules"], undefined);
  deepEqual(kube.get("operatingsystemprofiles", "osp-ubuntu", "kube-system")?.metadata.labels, { mine: "yes" });
});

function raise(kube: FakeKube, version: string): void {
  const annotations = { "ostler.dev/default-profile": version };
  const metadata = { name: "osp-ubuntu", namespace: "kube-system", annotations };
  kube.put("operatingsystemprofiles", { metadata, spec: { ...profile(kube), version, osVersion: "newer" } });
}

Deno.test("installDefaultProfiles: keeps the profiles of a newer Ostler, and logs that in one line", async () => {
  const kube = new FakeKube();
  await installDefaultProfiles(kube.client, "kube-system", log);
  raise(kube, "v99.10.0");
  lines.length = kube.writes.length = 0;
  await installDefaultProfiles(kube.client, "kube-system", log);
  deepEqual(kube.writes, []);
  deepEqual(profile(kube)["osVersion"], "newer");
  equal(lines.length, 1);
  match(JSON.stringify(lines), /a newer Ostler installed.*"osp-ubuntu".*"v99.10.0"/);
});

for (const version of ["v0.9.9", "v0.10.0-rc.1", "theirs"]) {
  Deno.test(`installDefaultProfiles: replaces a profile of version "${version}" that an earlier Ostler installed`, async () => {
    const kube = new FakeKube();
    await installDefaultProfiles(kube.client, "kube-system", log);
    const wanted = profile(kube)["version"];
    raise(kube, version);
    await installDefaultProfiles(kube.client, "kube-system", log);
    equal(profile(kube)["version"], wanted);
    const { annotations } = kube.get("operatingsystemprofiles", "osp-ubuntu", "kube-system")?.metadata ?? {};
    deepEqual(annotations, { "ostler.dev/default-profile": wanted });
  });
}

Deno.test("installDefaultProfiles: replaces a default profile that Ostler did not install, even of a newer version", async () => {
  const kube = new FakeKube();
  await installDefaultProfiles(kube.client, "kube-system", log);
  const wanted = profile(kube)["version"];
  const metadata = { namespace: "kube-system", name: "osp-ubuntu" };
  kube.put("operatingsystemprofiles", { metadata, spec: { osName: "ubuntu", version: "v99.0.0" } });
  await installDefaultProfiles(kube.client, "kube-system", log);
  equal(profile(kube)["version"], wanted);
});
