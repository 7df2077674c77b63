/** Tests which credentials of a Secret are used for a registry, and that no error message quotes them. */
import { deepEqual, equal, match } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { readPullCredentials } from "../../../../activities/os_image/pull_credentials.ts";
import { FakeKube } from "../../../support/fake_kube.ts";

const base64 = (text: string): string => Buffer.from(text).toString("base64");
const auth = (name: string, password: string): object => ({ auth: base64(`${name}:${password}`) });
const where = { namespace: "kube-system", name: "pull" };

function kubeWith(config: unknown, type = "kubernetes.io/dockerconfigjson"): FakeKube {
  const kube = new FakeKube();
  const text = typeof config === "string" ? config : JSON.stringify(config);
  kube.put("secrets", { metadata: where, type, data: { ".dockerconfigjson": base64(text) } });
  return kube;
}

function read(kube: FakeKube, host = "quay.io", path = "team/os"): ReturnType<typeof readPullCredentials> {
  return readPullCredentials(kube.client, "pull", { host, path });
}

Deno.test("readPullCredentials: returns the entry with the longest matching path, and no entry of another registry", async () => {
  const auths = {
    "quay.io": auth("all", "1"),
    "https://quay.io/team": auth("team", "2:3"),
    "quay.io/tea": auth("other", "4"),
    "quay.io.example": auth("foreign", "5"),
    "https://index.docker.io/v1/": { username: "hub", password: "6" },
  };
  const kube = kubeWith({ auths });
  deepEqual(await read(kube), { username: "team", password: "2:3" });
  deepEqual(await read(kube, "quay.io", "others/os"), { username: "all", password: "1" });
  deepEqual(await read(kube, "registry-1.docker.io", "library/a"), { username: "hub", password: "6" });
});

for (
  const [what, kube, words] of [
    ["does not exist", new FakeKube(), /Secret "kube-system\/pull" does not exist/],
    ["is of another type", kubeWith({ auths: {} }, "Opaque"), /is not of type/],
    ["is not JSON", kubeWith("hunter2"), /does not have a username and password for "quay.io"/],
    ["has no entry for that registry", kubeWith({ auths: { "ghcr.io": auth("a", "hunter2") } }), /for "quay.io"/],
    ["has an invalid entry", kubeWith({ auths: { "quay.io": { auth: "hunter2" } } }), /for "quay.io"/],
  ] as const
) {
  Deno.test(`readPullCredentials: reports that a Secret ${what}, and quotes nothing of the Secret`, async () => {
    const error = await read(kube).catch((error: unknown) => error) as Error & { reason: string };
    equal(error.reason, "CredentialsMissing");
    match(error.message, words);
    equal(error.message.includes("hunter2"), false);
  });
}
