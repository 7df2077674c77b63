import assert from "node:assert/strict";
import { containerdConfig } from "../../../profiles/containerd/config_toml.ts";
import { registryHostFiles } from "../../../profiles/containerd/registry_hosts.ts";
import { defaultNodeSettings, type NodeSettings } from "../../../profiles/mod.ts";
import { refuses } from "./refuses.ts";

function filesOf(settings: Partial<NodeSettings>): Record<string, string> {
  const files = registryHostFiles({ ...defaultNodeSettings, ...settings });
  return Object.fromEntries(files.map(({ path, content }) => {
    assert.match(path, /^\/etc\/containerd\/certs\.d\/[^/]+\/hosts\.toml$/);
    return [path.split("/")[4], content.inline.data];
  }));
}

const pull = `capabilities = ["pull", "resolve"]`;

Deno.test("registryHostFiles: keeps Docker Hub's own address unless a mirror replaces it", () => {
  const hub = "https://registry-1.docker.io";
  assert.deepEqual(filesOf({}), { "docker.io": `server = "${hub}"\n\n[host."${hub}"]\n${pull}\n` });
  const mirrored = filesOf({ nodeRegistryMirrors: ["mirror.example"] });
  assert.deepEqual(mirrored, { "docker.io": `server = "${hub}"\n\n[host."https://mirror.example"]\n${pull}\n` });
  const insecure = filesOf({ nodeInsecureRegistries: ["docker.io"] });
  assert.deepEqual(insecure, { "docker.io": `server = "${hub}"\n\n[host."${hub}"]\n${pull}\nskip_verify = true\n` });
});

Deno.test("registryHostFiles: reads mirrors in the legacy form, for a registry with a port and for all registries", () => {
  const files = filesOf({ nodeRegistryMirrors: ["reg.example:5000=host.example", "*=any.example", "httpd.example"] });
  assert.equal(files["reg.example:5000"], `server = "reg.example:5000"\n\n[host."https://host.example"]\n${pull}\n`);
  assert.equal(files["_default"], `[host."https://any.example"]\n${pull}\n`);
  assert.match(files["docker.io"] ?? "", /\[host\."https:\/\/httpd\.example"\]/);
});

Deno.test("registryHostFiles: joins registries that differ only in their path, because containerd has one file per host", () => {
  const files = filesOf({
    nodeContainerdRegistryMirrors: [
      "reg.example/b=https://m.example/b?kubermatic=override_path%3D1",
      "reg.example/a=https://m.example/a",
      "reg.example/a=https://m.example/b",
    ],
    nodeInsecureRegistries: ["reg.example/a"],
  });
  assert.equal(
    files["reg.example"],
    [
      `server = "reg.example"`,
      "",
      `[host."https://m.example/a"]`,
      pull,
      "skip_verify = true",
      `[host."https://m.example/b"]`,
      pull,
      "skip_verify = true",
      "override_path = true",
      "",
    ].join("\n"),
  );
});

Deno.test("registryHostFiles: removes the query parameter kubermatic from a mirror's URL, and sorts and escapes the other parameters as Go does", () => {
  const hostOf = (url: string): string => {
    const { "r.example": text = "" } = filesOf({ nodeContainerdRegistryMirrors: [`r.example=${url}`] });
    return text.split("\n").slice(2).join("|");
  };
  const side = "kubermatic=override_path%3D";
  const cases: [string, string, boolean][] = [
    [`https://m?${side}true`, "https://m", true],
    [`https://m/p?z=1&${side}T&a=x%20y*`, "https://m/p?a=x+y%2A&z=1", true],
    [`https://m?${side}yes&b;c=1`, "https://m", false],
    ["https://m?z=1&a=2", "https://m?z=1&a=2", false],
    [`m.example:5000?${side}true`, "m.example:5000", true],
    ["https://m?kubermatic=%25zz", "https://m", false],
  ];
  for (const [written, url, isOverridden] of cases) {
    const table = `[host."${url}"]|${pull}|${isOverridden ? "override_path = true|" : ""}`;
    assert.equal(hostOf(written), table, written);
  }
});

Deno.test("registryHostFiles: refuses the wildcard as an insecure registry unless all registries have a mirror", () => {
  refuses(() => filesOf({ nodeInsecureRegistries: ["*"] }), "RenderFailed", `"*"`, "requires a mirror");
  const files = filesOf({ nodeInsecureRegistries: ["_default"], nodeRegistryMirrors: ["_default=m.example"] });
  assert.equal(files["_default"], `[host."https://m.example"]\n${pull}\nskip_verify = true\n`);
});

Deno.test("registryHostFiles: sorts the files by path", () => {
  const names = Object.keys(filesOf({ nodeInsecureRegistries: ["a", "a.b", "a:80", "z"] }));
  assert.deepEqual(names, ["a.b", "a", "a:80", "docker.io", "z"]);
});

Deno.test("containerdConfig: writes one table for each host with credentials, and escapes any text", () => {
  const text = containerdConfig(defaultNodeSettings, {
    "https://b.example/v1/": { username: "old" },
    "b.example": { username: "u", password: 'p"\\\n\x01' },
    localhost: { identitytoken: "t" },
    "https://user:pw@c.example:80": {},
  });
  const from = text.indexOf('[plugins."io.containerd.cri.v1.images".registry.configs]');
  const tables = text.slice(from, text.indexOf('[plugins."io.containerd.cri.v1.runtime"]'));
  assert.deepEqual(tables.replaceAll(`plugins."io.containerd.cri.v1.images".registry.`, "").trim().split("\n"), [
    "[configs]",
    `[configs."b.example"]`,
    `[configs."b.example".auth]`,
    `username = "old"`,
    `[configs."c.example:80"]`,
    `[configs."c.example:80".auth]`,
    "[configs.localhost]",
    "[configs.localhost.auth]",
    `identitytoken = "t"`,
  ]);
  assert.match(
    containerdConfig(defaultNodeSettings, { r: { password: 'p"\\\n\x01' } }),
    /\npassword = "p\\"\\\\\\n\\u0001"\n/,
  );
});

Deno.test("fault P5: containerdConfig writes credentials for Docker Hub under the host that containerd pulls from", () => {
  for (const name of ["https://index.docker.io/v1/", "index.docker.io/v1/", "index.docker.io", "docker.io"]) {
    const text = containerdConfig(defaultNodeSettings, { [name]: { auth: "dTpw" } });
    assert.match(text, /configs\."registry-1\.docker\.io"\.auth\]\nauth = "dTpw"\n/, name);
  }
});

Deno.test("containerdConfig: writes restrict_oom_score_adj only when set, so that machines without the setting keep their config", () => {
  const line = "restrict_oom_score_adj = true";
  assert.ok(!containerdConfig(defaultNodeSettings, {}).includes(line));
  const text = containerdConfig({ ...defaultNodeSettings, restrictOomScoreAdj: true }, {});
  assert.match(text, /\[plugins\."io\.containerd\.cri\.v1\.runtime"\]\n[^[]*restrict_oom_score_adj = true\n/);
});
