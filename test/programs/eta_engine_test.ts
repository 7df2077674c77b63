import assert from "node:assert/strict";
import { EtaEngine } from "../../profiles/engines/eta.ts";
import type { PoolLimits } from "../../profiles/engines/process_pool.ts";
import { faultOf } from "../support/fault_of.ts";

type Render = (template: string, more?: { snippets?: Record<string, string>; scope?: string }) => Promise<string>;

const data = { name: "pool", cluster: { dns: ["10.96.0.10"], domain: "cluster.local" }, settings: {}, empty: null };

async function withEngine(story: (render: Render) => Promise<void>, limits: Partial<PoolLimits> = {}): Promise<void> {
  const engine = new EtaEngine(limits);
  try {
    await story(async (template, { snippets = {}, scope = "one" } = {}) => {
      const [text] = await engine.render({ scope, files: [{ path: "/etc/file", template }], snippets, data });
      return text ?? "";
    });
  } finally {
    await engine.close();
  }
}

Deno.test("EtaEngine: renders values, conditions, loops and snippets, and trims only on request", () =>
  withEngine(async (render) => {
    const template = `<% for (const ip of it.cluster.dns) { -%>\ndns <%= ip %>\n<% } -%>\n<%~ include("@who") %>\n`;
    const text = await render(template, { snippets: { who: "I am <%= it.name %> & <you>" } });
    assert.equal(text, "dns 10.96.0.10\nI am pool & <you>\n");
  }));

Deno.test("EtaEngine: names line and expression of a missing value, also in snippets and conditions", () =>
  withEngine(async (render) => {
    assert.equal(await faultOf(render("a\nb <%= it.cluster.port %>")), "line 2: it.cluster.port is missing");
    assert.equal(await faultOf(render("<% if (it.nothing) { %>x<% } %>")), "line 1: it.nothing is missing");
    assert.equal(await faultOf(render("<%= it.cluster.dns[3] %>")), "line 1: it.cluster.dns[3] is missing");
    const snippets = { inner: "\n<%= it.port %>" };
    assert.equal(
      await faultOf(render(`<%~ include("@inner") %>`, { snippets })),
      `snippet "inner": line 2: it.port is missing`,
    );
    assert.equal(await render(`<%= "maxPods" in it.settings %>`), "false");
  }));

Deno.test("EtaEngine: renders the files of a phase in order and names the one that fails", async () => {
  const engine = new EtaEngine();
  try {
    const files = ["/a", "/b"].map((path) => ({ path, template: `${path} <%= it.name %>` }));
    const request = { scope: "one", snippets: {}, data };
    assert.deepEqual(await engine.render({ ...request, files }), ["/a pool", "/b pool"]);
    const broken = [...files, { path: "/c", template: "<%= it.port %>" }];
    await assert.rejects(engine.render({ ...request, files: broken }), { file: "/c", message: /it\.port is missing/ });
    assert.deepEqual(await engine.render({ ...request, files: [] }), []);
  } finally {
    await engine.close();
  }
});

Deno.test("EtaEngine: refuses to print a value that is not text", () =>
  withEngine(async (render) => {
    assert.equal(await faultOf(render("<%= undefined %>")), "line 1: cannot print undefined");
    assert.equal(await faultOf(render("<%= it.empty %>")), "line 1: cannot print null");
    assert.equal(await faultOf(render("<%= it.cluster %>")), "line 1: cannot print object");
    assert.equal(await faultOf(render("<%= it.cluster.dns %>")), "line 1: cannot print a list");
    assert.equal(await render("<%= JSON.stringify(it.cluster) %>"), JSON.stringify(data.cluster));
  }));

Deno.test("EtaEngine: reports a syntax error", () =>
  withEngine(async (render) => {
    assert.match(await faultOf(render("<% if ( { %>")), /^template does not parse: Unexpected token/);
    assert.match(await faultOf(render("a <% b")), /^template does not parse: unclosed tag at line 1/);
    assert.match(await faultOf(render("x", { snippets: { s: "<%= ) %>" } })), /^snippet "s" does not parse/);
  }));

Deno.test("EtaEngine: gives templates no environment, files, network, processes, clock or random numbers", () =>
  withEngine(async (render) => {
    const attempts = [
      "Deno.env.toObject()",
      `Deno.readTextFileSync("/etc/hostname")`,
      `fetch("http://127.0.0.1:1")`,
      `new Deno.Command("/bin/ls").outputSync()`,
      "process.env.HOME",
      `new Worker("data:application/javascript,1", { type: "module" })`,
      "Date.now()",
      "new Date().getTime()",
      "Math.random()",
      "crypto.randomUUID()",
      "performance.now()",
      `this.constructor.constructor("return Deno.pid")()`,
    ];
    for (const attempt of attempts) {
      assert.match(await faultOf(render(`<%= ${attempt} %>`)), /is not defined|is not a function/, attempt);
    }
    assert.equal(await render(`<%= new Error("where").stack %>`), "Error: where");
    assert.equal(await render("<%= it.name %>"), "pool");
  }));

Deno.test("EtaEngine: stops everything that a template starts", () =>
  withEngine(async (render) => {
    const sneak = "<% ;(async () => { await null; String.prototype.trim = () => 'evil'; })(); %>none";
    assert.equal(await render(sneak), "none");
    assert.equal(await render("<%= ' good '.trim() %>"), "good");
    assert.equal(await render("<% import('node:fs').then((fs) => fs.readFileSync('/etc/passwd')); %>none"), "none");
  }));

Deno.test("EtaEngine: stops an endless template, and still renders a template that waited", () =>
  withEngine(async (render) => {
    const [fault, waiting] = await Promise.all([faultOf(render("<% for (;;); %>")), render("<%= it.name %>")]);
    assert.equal(fault, "it did not finish within 250 ms");
    assert.equal(waiting, "pool");
  }, { renderMs: 250 }));

Deno.test("EtaEngine: names the file of a phase whose template never ends, or allocates memory without end", async () => {
  const engine = new EtaEngine({ renderMs: 250, searchMs: 60_000, heapMiB: 16 });
  const fileOf = (...templates: string[]): Promise<string | undefined> => {
    const files = templates.map((template, index) => ({ path: `/${index}`, template }));
    const rendering = engine.render({ scope: "one", files, snippets: {}, data });
    return rendering.then(() => assert.fail("it rendered"), (fault) => fault.file);
  };
  try {
    assert.equal(await fileOf("a", "<% for (;;); %>", "b"), "/1");
    assert.equal(
      await fileOf("a", "b", "<% const all = []; for (;;) all.push(new Array(100_000).fill(1.5)); %>"),
      "/2",
    );
  } finally {
    await engine.close();
  }
});

Deno.test("EtaEngine: survives templates that allocate without end", () =>
  withEngine(async (render) => {
    const heap = await faultOf(render("<% const all = []; for (;;) all.push({ n: all.length }); %>"));
    assert.match(heap, /^it ended its process \(.*\), whose memory limit is 16 MiB$/);
    const text = "<% const all = []; for (;;) all.push('x'.repeat(1_000_000) + all.length); %>";
    assert.match(await faultOf(render(text)), /^it ended its process/);
    assert.match(await faultOf(render("<% let s = 'x'; for (;;) s += s; %>")), /Invalid string length/);
    assert.match(await faultOf(render(`<%= "x".repeat(3_000_000) %>`)), /^it made more than 1000000 bytes$/);
    assert.equal(await render("<%= it.name %>"), "pool");
  }, { heapMiB: 16, answerBytes: 1_000_000, renderMs: 20_000 }));

Deno.test("EtaEngine: isolates the templates of one scope from those of another", () =>
  withEngine(async (render) => {
    await render("<% Array.prototype.join = () => 'evil'; JSON.parse = () => ({}); %>", { scope: "evil" });
    assert.equal(await render("<%= it.cluster.dns.join() %>", { scope: "good" }), "10.96.0.10");
  }));

Deno.test("EtaEngine: keeps no state of a template for the next render of the same scope", () =>
  withEngine(async (render) => {
    const places = [
      "globalThis",
      "this",
      "this.config",
      "this.constructor.prototype",
      "arguments.callee",
      "Array.prototype",
      "Math",
      "Reflect.getPrototypeOf([].values())",
      "(async () => {})().constructor",
      `new URL("a:b").searchParams.constructor`,
      `(() => { try { atob("%") } catch (error) { return error.constructor } })()`,
      `(() => { try { include("@none") } catch (error) { return error.constructor } })()`,
    ];
    for (const place of places) {
      await render(`<% ;${place}.left = it.name %>`);
      // Renders the same template twice, because a cached template could keep state.
      const again = `<% if (!("left" in ${place})) { ${place}.left = it.name } else { %>left<% } %>`;
      assert.deepEqual([await render(again), await render(again)], ["", ""], place);
    }
    await render(`<% left = it.name; RegExp.input = it.name; new RegExp(".*").exec(it.name) %>`);
    assert.equal(await render(`<%= typeof left + typeof RegExp.input + typeof RegExp["$&"] %>`), "undefined".repeat(3));
  }));

Deno.test("EtaEngine: continues after its process was replaced, and after it was closed", async () => {
  const engine = new EtaEngine({ rendersPerProcess: 2, processes: 1 });
  const files = [{ path: "f", template: "<%= it.n %>" }];
  const render = (scope: string): Promise<string[]> => engine.render({ scope, files, snippets: {}, data: { n: 7 } });
  const all = await Promise.all(["a", "a", "a", "a", "a", "b", "a"].map(render));
  assert.deepEqual(all, Array(7).fill(["7"]));
  await engine.close();
  assert.deepEqual(await render("a"), ["7"]);
  await engine.close();
});

Deno.test("EtaEngine: never exceeds its number of processes, however many scopes render concurrently", async () => {
  // Other tests of this process may have started some children, so only additional ones count.
  const before = await childrenNow();
  const engine = new EtaEngine({ processes: 2 });
  const files = [{ path: "f", template: "<% for (let i = 0; i < 1e7; i++); %><%= it.n %>" }];
  const scopes = ["a", "b", "c", "d", "e", "a", "b"];
  const renders = Promise.all(scopes.map((scope) => engine.render({ scope, files, snippets: {}, data: { n: 7 } })));
  const counts: number[] = [];
  try {
    const isDone = renders.then(() => true);
    do counts.push(await childrenNow()); while (!await Promise.race([isDone, Promise.resolve(false)]));
  } finally {
    await renders;
    await engine.close();
  }
  const most = Math.max(...counts) - before;
  assert.ok(most <= 2, `${most} processes`);
});

Deno.test("EtaEngine: ends a template that makes one text larger than its heap", () =>
  withEngine(async (render) => {
    const fault = await faultOf(render("<% const text = 'x'.repeat(5e8); text.charCodeAt(4); %>"));
    assert.match(fault, /memory limit is 128 MiB/);
  }));

Deno.test("EtaEngine: ends a cancelled render immediately, even while it waits for a process, and renders the next template", async () => {
  const engine = new EtaEngine({ processes: 1, renderMs: 60_000 });
  const render = (template: string, signal?: AbortSignal): Promise<string[]> =>
    engine.render({ scope: "one", files: [{ path: "f", template }], snippets: {}, data: { n: 7 } }, signal);
  try {
    await render("<%= it.n %>");
    const stop = new AbortController();
    const called = [render("<% for (;;); %>", stop.signal), render("<%= it.n %>", stop.signal)];
    setTimeout(() => stop.abort(new Error("called off")), 50);
    for (const one of called) await assert.rejects(one, { message: "called off" });
    assert.deepEqual(await render("<%= it.n %>"), ["7"]);
    await assert.rejects(render("<%= it.n %>", stop.signal), { message: "called off" });
  } finally {
    await engine.close();
  }
});

Deno.test("EtaEngine: shortens the text of a template's error", () =>
  withEngine(async (render) => {
    const fault = await faultOf(render(`<% throw new Error("x".repeat(100_000)) %>`));
    assert.equal(fault, `line 1: ${"x".repeat(992)}…`);
  }));

/**
 * Returns how many child processes this process has, without the shell that counts them; -1 on systems other than
 * Linux.
 */
async function childrenNow(): Promise<number> {
  const command = new Deno.Command("/bin/sh", { args: ["-c", "cat /proc/$PPID/task/*/children"], stderr: "null" });
  const { stdout } = await command.output();
  return new TextDecoder().decode(stdout).split(" ").filter((pid) => pid.trim() !== "").length - 1;
}
