import assert from "node:assert/strict";
import { createHash, createPrivateKey, createPublicKey, sign, verify } from "node:crypto";
import { GoEngine } from "../../profiles/engines/go.ts";
import type { PoolLimits } from "../../profiles/engines/process_pool.ts";
import { goData } from "../../profiles/go_data.ts";
import { faultOf } from "../support/fault_of.ts";
import { renderFacts } from "../support/render_facts.ts";

interface More {
  path?: string;
  snippets?: Record<string, string>;
  /** Data of the templates that differ from those of a plain pool. */
  data?: Record<string, unknown>;
}

type Render = (template: string, more?: More) => Promise<string>;

const text = new TextEncoder().encode("signed by every key");
const plain = goData(renderFacts({ settings: { nodeHttpProxy: "http://proxy.test:3128" } }));

// Most tests share this engine, because starting an engine takes longer than a test.
const shared = new GoEngine({ processes: 1 });
// Another engine with its own history of renders: both must return equal text for equal input.
const other = new GoEngine({ processes: 1 });
Deno.test.afterAll(() => Promise.all([shared.close(), other.close()]).then(() => {}));

const render = renderOf(shared);
const renderElsewhere = renderOf(other);

function renderOf(engine: GoEngine): Render {
  return async (template, { path = "/etc/file", snippets = {}, data = {} } = {}) => {
    const files = [{ path, template }];
    const [text] = await engine.render({ scope: "one", files, snippets, data: { ...plain, ...data } });
    return text ?? "";
  };
}

/** Runs a story with a new engine that has these limits, and has rendered nothing yet. */
async function withEngine(story: (render: Render) => Promise<void>, limits: Partial<PoolLimits>): Promise<void> {
  const engine = new GoEngine(limits);
  try {
    await story(renderOf(engine));
  } finally {
    await engine.close();
  }
}

Deno.test("GoEngine: renders the files of a phase in order and names the one that fails", async () => {
  const files = ["/a", "/b"].map((path) => ({ path, template: `${path} {{ .KubeVersion }}` }));
  const request = { scope: "one", snippets: {}, data: plain };
  assert.deepEqual(await shared.render({ ...request, files }), ["/a v1.36.1", "/b v1.36.1"]);
  assert.deepEqual(await shared.render({ ...request, files: [] }), []);
  const broken = [...files, { path: "/c", template: "\n{{ upper 1 }}" }];
  await assert.rejects(shared.render({ ...request, files: broken }), {
    name: "TemplateFault",
    file: "/c",
    message: `template: /c:2:9: executing "/c" at <1>: expected string; found 1`,
  });
});

Deno.test("GoEngine: names the snippet that does not parse or execute, and the file if the output of a snippet does not parse", async () => {
  const fault = (snippet: string): Promise<string> =>
    faultOf(render(`{{ template "s" }}`, { snippets: { s: snippet } }));
  assert.equal(await fault("{{ if }}"), `snippet "s": template: s:1: missing value for if`);
  assert.match(
    await fault("\n{{ .Nope }}"),
    /^snippet "s": template: s:2:3: executing "s" at <\.Nope>: can't evaluate/,
  );
  assert.match(await fault(`{{ "{{ nope }}" }}`), /^template: \/etc\/file:3: function "nope" not defined$/);
});

Deno.test("GoEngine: uses no outdated template or snippet after a change", async () => {
  const render = renderElsewhere;
  const snippets = { s: "snippet {{ .KubeVersion }}" };
  assert.equal(await render(`one {{- template "s" }}`, { snippets }), "one\nsnippet v1.36.1");
  assert.equal(await render(`two {{- template "s" }}`, { snippets }), "two\nsnippet v1.36.1");
  assert.equal(await render(`two {{- template "s" }}`, { snippets: { s: "other" } }), "two\nother");
  assert.match(await faultOf(render(`two {{- template "s" }}`)), /template "s" not defined/);
  const many = Array.from({ length: 600 }, (_, n) => ({ path: "/etc/file", template: `${n} {{ .KubeVersion }}` }));
  const texts = await other.render({ scope: "one", files: many, snippets: {}, data: plain });
  assert.deepEqual(texts, Array.from({ length: 600 }, (_, n) => `${n} v1.36.1`));
  assert.equal(await render(`two {{- template "s" }}`, { snippets }), "two\nsnippet v1.36.1");
});

Deno.test("GoEngine: gives templates no environment, network, clock or time zone", async () => {
  assert.equal(await render(`[{{ env "HOME" }}{{ env "PATH" }}{{ env "TZ" }}]`), "[]");
  assert.equal(await render(`[{{ expandenv "$HOME $PATH" }}]`), "[ ]");
  assert.equal(await render(`[{{ getHostByName "localhost" }}]`), "[]");
  assert.equal(
    await render(`{{ now }}, {{ date "15:04 MST" now }}, {{ ago now }}`),
    [
      "1970-01-01 00:00:00 +0000 UTC",
      "00:00 UTC",
      "0s",
    ].join(", "),
  );
});

Deno.test("GoEngine: returns equal text for equal input, even from functions that return random text in Go", async () => {
  const template = `{{ uuidv4 }} {{ randAlphaNum 9 }} {{ randInt 0 1000000 }} {{ shuffle "abcdefgh" }} {{ randBytes 9 }}
{{ bcrypt "p" }} {{ encryptAES "key" "text" }} {{ toString .HTTPProxy }} {{ list .HTTPProxy .MaxPods }}`;
  const data = { MaxPods: 110 };
  const first = await render(template, { data });
  assert.equal(await render(template, { data }), first);
  await render("{{ randAlphaNum 99 }}{{ range until 9 }}{{ uuidv4 }}{{ end }}", { path: "/else" });
  assert.equal(await render(template, { data, path: "/etc/file" }), first);
  assert.notEqual(await render("{{ uuidv4 }}", { path: "/else" }), first.slice(0, 36));
  assert.notEqual(await render("{{ uuidv4 }}", { data: { SecretName: "other" } }), first.slice(0, 36));
  assert.equal(await render("{{ uuidv4 }}"), first.slice(0, 36));
  await renderElsewhere("another {{ list 1 2 3 }} before {{ uuidv4 }}");
  assert.equal(await renderElsewhere(template, { data }), first);
});

/** All random functions of sprig, except the creation of RSA keys, which is slow. */
const byChance = [
  `uuidv4`,
  ...["randAlphaNum 20", "randAlpha 20", "randNumeric 20", "randAscii 20", "randBytes 20", "randInt 0 1000000000"],
  ...[`shuffle "abcdefghijklmnop"`, `bcrypt "p"`, `htpasswd "u" "p"`, `encryptAES "key" "text"`],
  ...[`genPrivateKey "ecdsa"`, `genPrivateKey "ed25519"`],
];

Deno.test("GoEngine: returns different random text for each seed, and lets no template read the seed", async () => {
  for (const call of byChance) {
    const texts = ["one", "two", "one"].map((Seed) => render(`{{ ${call} }}`, { data: { Seed } }));
    const [first, second, again] = await Promise.all(texts);
    assert.ok(first !== second && first === again, `${call}: ${first}, ${second}, ${again}`);
  }
  const data = { Seed: "seed-5f3a" };
  assert.equal(await render("{{ toJson . }}{{ . }}", { data }), await render("{{ toJson . }}{{ . }}"));
  assert.match(await faultOf(render("{{ .Seed }}", { data })), /can't evaluate field Seed in type \*resources\./);
  for (const call of ["Seed", "$.Parameters.Seed", "$.SecretName.Seed"]) {
    const text = await render(`{{ ${call} }}`, { data }).catch(({ message }) => message);
    assert.ok(!text.includes("seed-5f3a"), text);
  }
});

Deno.test("GoEngine: returns keys and values of a map in order", async () => {
  const dict = `(dict ${Array.from({ length: 20 }, (_, n) => `"k${n + 10}" ${n}`).reverse().join(" ")})`;
  const numbers = Array.from({ length: 20 }, (_, n) => n);
  assert.equal(await render(`{{ keys ${dict} | join "," }}`), numbers.map((n) => `k${n + 10}`).join(","));
  assert.equal(await render(`{{ values ${dict} | join "," }}`), numbers.join(","));
  assert.equal(await render(`{{ keys (dict "z" 1) (dict "a" 1) (dict) }}`), "[z a]");
});

Deno.test("GoEngine: returns equal private keys for equal templates, and the keys can sign", async () => {
  const kinds = { rsa: "RSA ", "": "RSA ", ecdsa: "EC ", ed25519: "" };
  const first: string[] = [];
  for (const kind of Object.keys(kinds)) first.push(await render(`{{ genPrivateKey "${kind}" }}`));
  for (const [index, [kind, label]] of Object.entries(kinds).entries()) {
    const pem = first[index] ?? "";
    assert.match(pem, new RegExp(`^-----BEGIN ${label}PRIVATE KEY-----\n[^-]+-----END ${label}PRIVATE KEY-----\n$`));
    const key = createPrivateKey(pem);
    assert.equal(key.asymmetricKeyType, { ecdsa: "ec" }[kind] ?? (kind || "rsa"));
    const algorithm = kind === "ed25519" ? null : "sha256";
    assert.equal(verify(algorithm, text, createPublicKey(key), sign(algorithm, text, key)), true, kind);
  }
  assert.equal(first[0], first[1]);
  assert.notEqual(await render(`{{ genPrivateKey "ecdsa" }}`, { path: "/else" }), first[2]);
  const [one, two] = (await render(`{{ genPrivateKey "ecdsa" }}|{{ genPrivateKey "ecdsa" }}`)).split("|");
  assert.ok(one === first[2] && two !== one, "Expected two different keys in one template");
  await Promise.all(byChance.map((call) => renderElsewhere(`another {{ ${call} }}`)));
  for (const [index, kind] of Object.keys(kinds).entries()) {
    // The type "" also means RSA, and its key equals the RSA key above.
    if (kind !== "") assert.equal(await renderElsewhere(`{{ genPrivateKey "${kind}" }}`), first[index]);
  }
});

Deno.test("GoEngine: returns the random text of earlier versions, so that an update changes no config", async () => {
  const digestOf = async (call: string): Promise<string> => {
    const text = await render(`{{ ${call} }}`, { data: { Seed: "seed", SecretName: "pool" } });
    return createHash("sha256").update(text).digest("hex").slice(0, 12);
  };
  assert.equal(await digestOf("randAlphaNum 20"), "0c135ac17c26");
  assert.equal(await digestOf("randInt 0 1000000000"), "5222d43cf459");
  assert.equal(await digestOf(`genPrivateKey "rsa"`), "f1a5bffe1f23");
  assert.equal(await digestOf(`genPrivateKey "ecdsa"`), "55870112d4cf");
  assert.equal(await digestOf(`genPrivateKey "ed25519"`), "33bfd4404dd3");
});

Deno.test("GoEngine: creates no key of an unknown type, and refuses the obsolete type DSA", async () => {
  assert.equal(await render(`{{ genPrivateKey "rot13" }}`), "Unknown type rot13");
  assert.match(await faultOf(render(`{{ genPrivateKey "dsa" }}`)), /DSA keys are not made any more/);
});

Deno.test("GoEngine: refuses to make certificates, which would have expired long ago", async () => {
  const calls = [
    `genCA "ca" 365`,
    `genCAWithKey "ca" 365 "key"`,
    `genSelfSignedCert "name" nil nil 365`,
    `genSelfSignedCertWithKey "name" nil nil 365 "key"`,
    `genSignedCert "name" nil nil 365 "ca"`,
    `genSignedCertWithKey "name" nil nil 365 "ca" "key"`,
  ];
  for (const call of calls) {
    assert.match(
      await faultOf(render(`{{ ${call} }}`)),
      /there is no clock here, so this certificate would be long expired/,
    );
  }
});

Deno.test("GoEngine: provides parameters as .Parameters, and leaves them out when all data is printed", async () => {
  const data = { Parameters: { size: 3, share: 0.5, on: true, mirrors: ["a", "b"] } };
  const template = `{{ with .Parameters }}{{ eq .size 3 }} {{ add .size 1 }} {{ .share }} {{ .on }}{{ end }}`;
  assert.equal(await render(template, { data }), "true 4 0.5 true");
  assert.equal(await render(`{{ range .Parameters.mirrors }}{{ . }},{{ end }}`, { data }), "a,b,");
  assert.equal(await render(`{{ .Parameters.none }}`, { data }), "<no value>");
  assert.equal(await render("{{ toJson . }}{{ . }}", { data }), await render("{{ toJson . }}{{ . }}"));
});

Deno.test("GoEngine: gives data the types and methods of Operating System Manager", async () => {
  const NetworkConfig = { CIDR: "10.0.0.2/24", Gateway: "", DNS: { Servers: null }, IPFamily: "IPv6+IPv4" };
  const data = { NetworkConfig, ImageMinimumGCAge: "90m" };
  const types = `{{ printf "%T %T %T %T" .CloudProviderName .NetworkConfig .ImageMinimumGCAge .UbuntuConfig }}`;
  const names = "v1alpha1.CloudProvider *providerconfig.NetworkConfig *v1.Duration ubuntu.Config";
  assert.equal(await render(types, { data }), names);
  const network = `{{ with .NetworkConfig }}{{ .IsStaticIPConfig }} {{ .GetIPFamily }} {{ with .IPFamily }}
{{- .HasIPv4 }} {{ .HasIPv6 }} {{ .IsDualstack }}{{ end }}{{ end }}`;
  assert.equal(await render(network, { data }), "true IPv6+IPv4 true true true");
  assert.equal(await render("[{{ .NetworkConfig.GetIPFamily }}]", { data: { NetworkConfig: null } }), "[]");
  const age = `{{ with .ImageMinimumGCAge }}{{ . }} {{ .Duration }} {{ .Hours }} {{ .ToUnstructured }}{{ end }}`;
  assert.equal(await render(age, { data }), "&Duration{Duration:1h30m0s,} 1h30m0s 1.5 1h30m0s");
});

Deno.test("GoEngine: describes invalid data of templates", async () => {
  const fault = (data: Record<string, unknown>): Promise<string> => faultOf(render("x", { data }));
  assert.match(await fault({ NoSuchField: "" }), /^the data of the templates: json: unknown field "NoSuchField"$/);
  assert.match(
    await fault({ MaxPods: "many" }),
    /cannot unmarshal string into Go struct field .*MaxPods of type int32$/,
  );
  assert.match(
    await fault({ ImageMinimumGCAge: "5 minutes" }),
    /time: unknown unit " minutes" in duration "5 minutes"/,
  );
});

Deno.test("GoEngine: stops an endless template, and renders other templates meanwhile", () =>
  withEngine(async (render) => {
    const endless = faultOf(render(`{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}`));
    const order: string[] = [];
    const others = [1, 2, 3].map((n) => render(`${n} {{ .KubeVersion }}`).then((text) => order.push(text)));
    await Promise.all([endless.then(() => order.push("stopped")), ...others]);
    assert.deepEqual(order, ["1 v1.36.1", "2 v1.36.1", "3 v1.36.1", "stopped"]);
    assert.equal(await endless, "it did not finish within 2000 ms");
    // 2 s are far more than the other templates need; each of them may have to start a process first, for which 250 ms
    // do not suffice on a busy machine.
  }, { renderMs: 2_000 }));

Deno.test("GoEngine: names the file of a phase whose template never ends", async () => {
  const engine = new GoEngine({ renderMs: 250, searchMs: 60_000 });
  const endless = `{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}`;
  const fileOf = (snippets: Record<string, string>, ...templates: string[]): Promise<string | undefined> => {
    const files = templates.map((template, index) => ({ path: `/${index}`, template }));
    const rendering = engine.render({ scope: "one", files, snippets, data: plain });
    return rendering.then(() => assert.fail("it rendered"), (fault) => fault.file);
  };
  try {
    assert.equal(await fileOf({}, "a", endless, "b"), "/1");
    assert.equal(await fileOf({ loop: endless }, "a", "b"), undefined, "Expected no file to be blamed for a snippet");
  } finally {
    await engine.close();
  }
});

Deno.test("GoEngine: survives templates with endless memory, text or recursion", () =>
  withEngine(async (render) => {
    const atOnce = await faultOf(render(`{{ repeat 1000000000 "x" | len }}`));
    assert.match(
      atOnce,
      /^it ended its process \(exit code 1, runtime: out of memory: .*\), whose memory limit is 64 MiB$/,
    );
    const slowly = `{{ $all := "some text" }}{{ range until 100 }}{{ $all = cat $all $all }}{{ end }}`;
    assert.match(await faultOf(render(slowly)), /^it ended its process \(.*out of memory/);
    const text = `{{ range until 1000000 }}{{ repeat 1000 "x" }}{{ end }}`;
    assert.equal(await faultOf(render(text)), "it made more than 1000000 bytes");
    const calls = `{{ define "me" }}{{ template "me" . }}{{ end }}{{ template "me" . }}`;
    assert.match(await faultOf(render(calls)), /^template: \/etc\/file:1:.*: exceeded maximum template depth/);
    const itself = `{{ $d := dict }}{{ $_ := set $d "self" $d }}{{ $d }}`;
    assert.match(await faultOf(render(itself)), /^it ended its process \(.*Maximum call stack size exceeded/);
    assert.equal(await render("{{ .KubeVersion }}"), "v1.36.1");
  }, { heapMiB: 64, answerBytes: 1_000_000, renderMs: 20_000 }));

Deno.test("GoEngine: continues after its process was replaced, and after it was closed", async () => {
  const engine = new GoEngine({ rendersPerProcess: 2, processes: 1 });
  const files = [{ path: "/f", template: "{{ .KubeVersion }}" }];
  const render = (): Promise<string[]> => engine.render({ scope: "one", files, snippets: {}, data: plain });
  assert.deepEqual(await Promise.all(Array.from({ length: 3 }, render)), Array(3).fill(["v1.36.1"]));
  await engine.close();
  assert.deepEqual(await render(), ["v1.36.1"]);
  await engine.close();
});
