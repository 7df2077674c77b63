import { deepEqual, equal, match } from "node:assert/strict";
import { installDefaultProfiles } from "../../../workers/install_default_profiles.ts";
import { answer, FakeKube } from "../../support/fake_kube.ts";

const lines: [string, unknown][] = [];
const told = (line: string, of?: object): void => void lines.push([line, of]);
const log = { info: told, warn: told };
const config = { disableDefaultOsps: false, namespace: "kube-system" };

async function install(kube: FakeKube): Promise<void> {
  const { signal } = new AbortController();
  await (await installDefaultProfiles(kube.client, config, { log, signal })).ended;
}

function profile(kube: FakeKube): Record<string, unknown> {
  return kube.get("operatingsystemprofiles", "osp-ubuntu", "kube-system")?.["spec"] as Record<string, unknown>;
}

Deno.test("installDefaultProfiles: installs missing profiles, and writes nothing on the next run", async () => {
  const kube = new FakeKube();
  await install(kube);
  equal(profile(kube)["osName"], "ubuntu");
  kube.writes.length = 0;
  await install(kube);
  deepEqual(kube.writes, []);
});

Deno.test("installDefaultProfiles: keeps an edited profile of the same version, and replaces a profile of an older version", async () => {
  const kube = new FakeKube();
  await install(kube);
  const version = profile(kube)["version"];
  const metadata = { namespace: "kube-system", name: "osp-ubuntu" };
  kube.put("operatingsystemprofiles", { metadata, spec: { ...profile(kube), osVersion: "edited" } });
  await install(kube);
  equal(profile(kube)["osVersion"], "edited");
  const of = { ...profile(kube), version: "0.0.1", modules: { runcmd: ["theirs"] } };
  kube.put("operatingsystemprofiles", { metadata: { ...metadata, labels: { mine: "yes" } }, spec: of });
  await install(kube);
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
  await install(kube);
  raise(kube, "v99.10.0");
  lines.length = kube.writes.length = 0;
  await install(kube);
  deepEqual(kube.writes, []);
  deepEqual(profile(kube)["osVersion"], "newer");
  equal(lines.length, 1);
  match(JSON.stringify(lines), /a newer Ostler installed.*"osp-ubuntu".*"v99.10.0"/);
});

for (const version of ["v0.9.9", "v0.10.0-rc.1", "theirs"]) {
  Deno.test(`installDefaultProfiles: replaces a profile of version "${version}" that an earlier Ostler installed`, async () => {
    const kube = new FakeKube();
    await install(kube);
    const wanted = profile(kube)["version"];
    raise(kube, version);
    await install(kube);
    equal(profile(kube)["version"], wanted);
    const { annotations } = kube.get("operatingsystemprofiles", "osp-ubuntu", "kube-system")?.metadata ?? {};
    deepEqual(annotations, { "ostler.dev/default-profile": wanted });
  });
}

Deno.test("installDefaultProfiles: replaces a default profile that Ostler did not install, even of a newer version", async () => {
  const kube = new FakeKube();
  await install(kube);
  const wanted = profile(kube)["version"];
  const metadata = { namespace: "kube-system", name: "osp-ubuntu" };
  kube.put("operatingsystemprofiles", { metadata, spec: { osName: "ubuntu", version: "v99.0.0" } });
  await install(kube);
  equal(profile(kube)["version"], wanted);
});

Deno.test("installDefaultProfiles: installs the others while the webhook refuses one, then that one, and logs one warning", async () => {
  const kube = new FakeKube();
  const stop = new AbortController();
  let refusals = 3;
  kube.onRequest = (request) => {
    if (request !== "create operatingsystemprofiles kube-system/osp-amzn2" || refusals-- <= 0) return;
    throw answer(500, "InternalError", "failed calling webhook: connection refused");
  };
  lines.length = 0;
  const { ended } = await installDefaultProfiles(kube.client, config, { log, signal: stop.signal, pauseMs: 1 });
  equal(profile(kube)["osName"], "ubuntu");
  equal(kube.writes.some((write) => write.endsWith("/osp-amzn2")), false);
  await ended;
  equal(kube.writes.filter((write) => write.endsWith("/osp-amzn2")).length, 1);
  equal(lines.length, 1);
  match(JSON.stringify(lines), /Failed to install all default profiles/);
});

Deno.test("installDefaultProfiles: ends when the controller stops while a profile is refused, and installs none if disabled", async () => {
  const kube = new FakeKube();
  const stop = new AbortController();
  kube.onRequest = (request) => {
    if (request.startsWith("create")) throw answer(403, "Forbidden", "denied by a policy");
  };
  const { ended } = await installDefaultProfiles(kube.client, config, { log, signal: stop.signal, pauseMs: 60_000 });
  stop.abort();
  await ended;
  await installDefaultProfiles(kube.client, { ...config, disableDefaultOsps: true }, { log, signal: stop.signal });
  deepEqual(kube.writes, []);
});
