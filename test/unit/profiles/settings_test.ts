import { deepEqual, equal, ok, throws } from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { loadYaml } from "@kubernetes/client-node";
import { defaultNodeSettings, NodeSettings } from "../../../profiles/node_settings.ts";
import { readNodeSettings } from "../../../profiles/settings/read_node_settings.ts";
import type { SettingSources } from "../../../profiles/settings/read_settings.ts";

const vectors = fileURLToPath(new URL("../../golden/osm/", import.meta.url));
const ca = readFileSync(`${vectors}cluster/host-ca.crt`, "utf8");

const files: Record<string, string> = {
  "ca.pem": ca,
  "empty.pem": "",
  "other.pem": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
};

function readFile(path: string): string {
  const text = files[path];
  if (text === undefined) throw Object.assign(new Error("no such file"), { code: "ENOENT" });
  return text;
}

const read = (sources: SettingSources): NodeSettings => readNodeSettings(sources, readFile).settings;
const flags = (...argv: string[]): NodeSettings => read({ argv });

function faultsOf(sources: SettingSources): string {
  let message = "";
  throws(() => read(sources), (error: Error) => {
    message = error.message;
    return true;
  });
  return message;
}

Deno.test("readNodeSettings: returns OSM's defaults when nothing is set", () => {
  deepEqual(read({}), defaultNodeSettings);
  deepEqual(defaultNodeSettings.clusterDns, ["10.10.10.10"]);
  deepEqual(defaultNodeSettings.nodeKubeletFeatureGates, { RotateKubeletServerCertificate: true });
  equal(defaultNodeSettings.nodeNoProxy, ".svc,.cluster.local,localhost,127.0.0.1");
});

Deno.test("readNodeSettings: reads flags with one dash and with two, with a space and with an equals sign", () => {
  const wanted = ["1.1.1.1", "fd00::a"];
  for (
    const argv of [["-cluster-dns", "1.1.1.1,fd00::a"], ["--cluster-dns=1.1.1.1, fd00::a"], [
      "-cluster-dns=1.1.1.1,fd00::a",
    ]]
  ) {
    deepEqual(read({ argv }).clusterDns, wanted);
  }
});

Deno.test("readNodeSettings: reads booleans as Go's flags do", () => {
  equal(flags("-external-cloud-provider").externalCloudProvider, true);
  for (const no of ["false", "0", "F"]) equal(flags(`--external-cloud-provider=${no}`).externalCloudProvider, false);
  deepEqual(readNodeSettings({ argv: ["--external-cloud-provider", "false"] }, readFile).rest, ["false"]);
});

Deno.test("readNodeSettings: uses the last value of a repeated flag, and all of a repeatable one", () => {
  const settings = flags(
    ...["--pause-image=a", "--pause-image=b", "--node-containerd-registry-mirrors", "quay.io=https://q.example,x"],
    "-node-containerd-registry-mirrors=ghcr.io=https://g.example?kubermatic=override_path%3Dtrue",
  );
  equal(settings.pauseImage, "b");
  deepEqual(settings.nodeContainerdRegistryMirrors, [
    ...["quay.io=https://q.example,x", "ghcr.io=https://g.example?kubermatic=override_path%3Dtrue"],
  ]);
});

Deno.test("readNodeSettings: prefers a flag to the environment, the environment to the file, and the file to the default", () => {
  const file = { "pause-image": "file", "binaries-url": "https://file.example", "cluster-domain": "file.example" };
  const env = { OSTLER_PAUSE_IMAGE: "env", OSTLER_BINARIES_URL: "https://env.example", OSTLER_CLUSTER_DOMAIN: "" };
  const settings = read({ argv: ["--pause-image=flag"], env, file });
  deepEqual([settings.pauseImage, settings.binariesUrl, settings.clusterDomain, settings.initialTaints], [
    ...["flag", "https://env.example", "file.example", ""],
  ]);
});

Deno.test("readNodeSettings: reads a file with YAML's own lists, mappings and booleans", () => {
  const settings = read({
    file: {
      "cluster-dns": ["10.0.0.10", "10.0.0.11"],
      "external-cloud-provider": true,
      "node-no-proxy": "",
      "node-kubelet-feature-gates": { A: true, B: false },
      "node-containerd-registry-mirrors": ["a=https://a.example", "b=https://b.example"],
    },
  });
  deepEqual(settings.clusterDns, ["10.0.0.10", "10.0.0.11"]);
  deepEqual([settings.externalCloudProvider, settings.nodeNoProxy], [true, ""]);
  deepEqual(settings.nodeKubeletFeatureGates, { RotateKubeletServerCertificate: true, A: true, B: false });
  equal(settings.nodeContainerdRegistryMirrors.length, 2);
});

Deno.test("readNodeSettings: an empty flag keeps the feature gate that OSM enables by default, and a flag can disable that gate", () => {
  deepEqual(flags("--node-kubelet-feature-gates=").nodeKubeletFeatureGates, { RotateKubeletServerCertificate: true });
  deepEqual(flags("--node-kubelet-feature-gates=RotateKubeletServerCertificate=false").nodeKubeletFeatureGates, {
    RotateKubeletServerCertificate: false,
  });
});

Deno.test("readNodeSettings: replaces the path of a CA bundle by its content", () => {
  const settings = flags("--kubernetes-ca-bundle=ca.pem", "--host-ca-bundle", "ca.pem");
  deepEqual([settings.kubernetesCaBundle, settings.hostCaBundle], [ca, ca]);
});

Deno.test("readNodeSettings: refuses a CA bundle that does not exist or has no certificate", () => {
  const message = faultsOf({ argv: ["--kubernetes-ca-bundle=none.pem", "--host-ca-bundle=empty.pem"] });
  ok(message.includes('--kubernetes-ca-bundle "none.pem": the file cannot be read (ENOENT)'), message);
  ok(message.includes('--host-ca-bundle "empty.pem": must hold a certificate in PEM'), message);
  ok(faultsOf({ argv: ["--host-ca-bundle=other.pem"] }).includes("must hold a certificate"));
});

const refused: [string, string][] = [
  ["--cluster-dns=10.0.0", "must be comma-separated IP addresses"],
  ["--cluster-dns=", "must be comma-separated IP addresses"],
  ["--external-cloud-provider=yes", "must be true or false"],
  ["--node-kubelet-feature-gates=A", "must be pairs such as GateA=true,GateB=false"],
  ["--node-kubelet-feature-gates=A=maybe", "must be pairs such as GateA=true,GateB=false"],
  ["--node-containerd-registry-mirrors=https://m.example", "must be registry=URL"],
  ["--initial-taints=key=value", "must be comma-separated taints such as key=value:NoSchedule"],
  ["--node-registry-credentials-secret=reg", "must be namespace/name"],
  ["--bootstrap-token-service-account-name=a/b/c", "must be namespace/name"],
  ["--override-bootstrap-kubelet-apiserver=api.example:6443", "must be an http(s) address"],
];

for (const [argument, wanted] of refused) {
  Deno.test(`readNodeSettings: refuses ${argument}`, () => {
    const [flag, value] = [argument.slice(0, argument.indexOf("=")), argument.slice(argument.indexOf("=") + 1)];
    equal(faultsOf({ argv: [argument] }), `Invalid settings: ${flag} "${value}": ${wanted}`);
  });
}

Deno.test("readNodeSettings: names all invalid settings in one error, each with its flag, variable or file", () => {
  const message = faultsOf({
    argv: ["--cluster-dns=x", "--pause-image"],
    env: { OSTLER_EXTERNAL_CLOUD_PROVIDER: "perhaps" },
    file: { "initial-taints": "t" },
  });
  for (
    const part of [
      ...['--cluster-dns "x": must', "--pause-image: must have a value"],
      ...['OSTLER_EXTERNAL_CLOUD_PROVIDER "perhaps": must', 'initial-taints in the file "t": must'],
    ]
  ) ok(message.includes(part), message);
});

Deno.test("readNodeSettings: refuses an insecure wildcard without a mirror, because its host table would have no name", () => {
  const mirror = "--node-containerd-registry-mirrors=*=https://m.example";
  ok(faultsOf({ argv: ["--node-insecure-registries=*"] }).includes('"*" requires a mirror'));
  deepEqual(flags("--node-insecure-registries=*", mirror).nodeInsecureRegistries, ["*"]);
});

Deno.test("readNodeSettings: never repeats a password that it refuses", () => {
  for (const password of ["hunter2", "hunter2/x", "x@hunter2"]) {
    const message = faultsOf({ argv: [`--binaries-url=ftp://user:${password}@mirror.example`] });
    ok(message.includes("mirror.example") && !message.includes("hunter2"), message);
  }
});

Deno.test("readNodeSettings: returns arguments and settings that are not node settings, without reading them", () => {
  const { rest, restOfFile } = readNodeSettings(
    { argv: ["render", "--out", "dir", "-cluster-dns", "1.1.1.1", "md.yaml"], file: { namespace: "kube-system" } },
    readFile,
  );
  deepEqual(rest, ["render", "--out", "dir", "md.yaml"]);
  deepEqual(restOfFile, ["namespace"]);
});

Deno.test("readNodeSettings: reads the settings.yaml of every recorded case of Operating System Manager", () => {
  const cases = readdirSync(vectors, { withFileTypes: true }).filter((entry) =>
    entry.isDirectory() && entry.name !== "cluster"
  );
  ok(cases.length > 80);
  for (const { name } of cases) {
    const file = loadYaml<Record<string, unknown>>(readFileSync(`${vectors}${name}/settings.yaml`, "utf8"));
    const { settings, restOfFile } = readNodeSettings({ file }, (path) => readFileSync(vectors + path, "utf8"));
    ok(settings.kubernetesCaBundle.startsWith("-----BEGIN"), name);
    deepEqual(restOfFile.sort(), ["disable-default-osps", "namespace"], name);
  }
});

Deno.test("NodeSettings: has a description for every setting", async () => {
  const { settingRows } = await import("../../../profiles/settings/settings_table.ts");
  const rows = settingRows(NodeSettings);
  equal(rows.length, Object.keys(defaultNodeSettings).length);
  for (const { flag, description } of rows) ok(description.length > 10, flag);
});
