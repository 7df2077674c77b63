import assert from "node:assert/strict";
import { EtaEngine } from "../../../profiles/engines/eta.ts";
import {
  defaultProfiles,
  hideSecrets,
  type OsProfile,
  parseProfile,
  renderConfig,
  type TemplateEngine,
} from "../../../profiles/mod.ts";
import { renderFacts } from "../../support/render_facts.ts";

/**
 * Walks over every object that it can reach through properties, prototypes, calls and errors, reports what another
 * render left there, and tries to leave its own name there in every way.
 */
const prying = `<%
const mark = "left by " + it.name;
const isOther = (text) => text.replaceAll(mark, "").includes("left by ");
const found = [], queue = [], seen = new Set();
const reach = (value, path) => {
  if (typeof value === "string" && isOther(value)) found.push(path + ": " + value);
  if (Object(value) !== value || seen.has(value) || seen.size > 8_000) return;
  seen.add(value);
  queue.push([value, path]);
};
const attempt = (work, path) => {
  try { reach(work(), path) } catch (error) { reach(error, path + " throws") }
};

const roots = {
  globalThis, this: this, callee: arguments.callee, options, it, include, output,
  async: async () => {}, asyncGenerator: async function* () {}, generator: function* () {},
  promise: (async () => {})(), tag: ((strings) => strings)\`x\`, search: new URL("a:b?c=d").searchParams,
};
for (const [name, root] of Object.entries(roots)) reach(root, name);
const faults = ["unknown", "null.x", "new Array(-1)", "decodeURIComponent('%')", "Function('(')", "atob('%')", "1n + 1",
  "new URL('')", "it.missing", "include('@none')", "this.renderString('<%')", "this.renderString('<%= )')",
  "JSON.parse('{')", "'x'.repeat(2 ** 30)", "{ using one = { [Symbol.dispose]() { throw 1 } }; throw 2 }",
  "this.RuntimeErr(new Error('x'), '', 1, '')", "for (const x of 1);", "new Proxy(1, 1)", "Symbol() + ''"];
for (const fault of faults) {
  attempt(() => Function("it", "include", fault).call(this, it, include), fault);
}

const search = (object, path) => {
  for (const key of Reflect.ownKeys(object)) {
    const name = path + "." + String(key);
    if (isOther(String(key))) found.push(name);
    const { value, get, set } = Reflect.getOwnPropertyDescriptor(object, key) ?? {};
    for (const inner of [value, get, set]) reach(inner, name);
  }
  attempt(() => Reflect.getPrototypeOf(object), path + ".__proto__");
  if (typeof object !== "function" || object === include || object === output) return;
  const isOwn = path.startsWith("it") || path.startsWith("options");
  for (const args of isOwn ? [] : [[], ["%"], [-1], [{}, mark], [[mark], () => mark]]) {
    attempt(() => new object(...args), "new " + path);
    attempt(() => object.apply(args[0], args), path + "()");
    attempt(() => object.apply(this, args), path + ".call(this)");
  }
};
for (let place = queue.shift(); place !== undefined; place = queue.shift()) {
  const [object, path] = place;
  attempt(() => search(object, path), path);
}

const isOwn = (object) => [it, options, queue, found, seen].includes(object);
for (const object of seen) {
  if (isOwn(object)) continue;
  for (const key of ["left", Symbol.for(mark), "0", "name", "message", "constructor"]) {
    attempt(() => Reflect.set(object, key, mark), "");
    attempt(() => Reflect.defineProperty(object, key, { value: mark, configurable: true }), "");
  }
  attempt(() => Map.prototype.set.call(object, mark, mark), "");
  attempt(() => Set.prototype.add.call(object, mark), "");
  attempt(() => Reflect.setPrototypeOf(object, { left: mark }), "");
}
%><%= seen.size > 500 ? "walked" : "stayed at " + seen.size %>: <%= found.slice(0, 9).join("; ") %>`;

Deno.test("fault S4: a template cannot leave data for a later render in any object that it can reach", async () => {
  const engine = new EtaEngine({ renderMs: 20_000 });
  const render = async (name: string): Promise<string> => {
    const files = [{ path: "/etc/file", template: prying }];
    return (await engine.render({ scope: "one", files, snippets: {}, data: { name } })).join();
  };
  try {
    for (const name of ["first", "second", "third"]) assert.equal(await render(name), "walked: ", name);
  } finally {
    await engine.close();
  }
});

/** Returns the scopes of the templates of pool `name`; the Eta engine renders each scope in its own process. */
async function scopesOf(profile: OsProfile, name: string, isShown: boolean): Promise<string[]> {
  const scopes: string[] = [];
  const engine: TemplateEngine = {
    render: ({ scope, files }) => {
      scopes.push(scope);
      return Promise.resolve(files.map(() => ""));
    },
    close: () => Promise.resolve(),
  };
  const facts = renderFacts({ deployment: { name } });
  await renderConfig(profile, isShown ? hideSecrets(facts) : facts, { eta: engine, go: engine });
  return [...new Set(scopes)];
}

const cases: [string, boolean][] = [["one", true], ["one", false], ["two", false]];

Deno.test("fault S4: the published config, and the secrets of each pool, are rendered in separate processes", async () => {
  const profile = parseProfile({
    ...{ osName: "ubuntu", osVersion: "24.04", version: "v1.2.3", templating: "eta" },
    ...{ supportedCloudProviders: [{ name: "kubevirt" }], bootstrapConfig: {}, provisioningConfig: {} },
  });
  const scopes = (await Promise.all(cases.map((one) => scopesOf(profile, ...one)))).flat();
  assert.deepEqual(new Set(scopes).size, 3, scopes.join("\n"));
  assert.deepEqual(await scopesOf(profile, "one", false), scopes.slice(1, 2));
});

Deno.test("fault S4: an unchanged default profile renders the secrets of all pools in one process, and a changed profile does not", async () => {
  for (const { metadata: { name }, spec } of await defaultProfiles()) {
    // A deep copy with equal content, like a profile that was read from the API server.
    const shipped = parseProfile(JSON.parse(JSON.stringify(spec)));
    const scopes = (await Promise.all(cases.map((one) => scopesOf(shipped, ...one)))).flat();
    assert.deepEqual([scopes.length, new Set(scopes).size, scopes[1] === scopes[2]], [3, 2, true], name);
    const changed = { ...shipped, bootstrapConfig: { ...shipped.bootstrapConfig, templates: { note: "changed" } } };
    assert.equal(new Set((await Promise.all(cases.map((one) => scopesOf(changed, ...one)))).flat()).size, 3, name);
  }
});
