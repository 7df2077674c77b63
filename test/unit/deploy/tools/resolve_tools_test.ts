import assert from "node:assert/strict";
import { join } from "node:path";
import { takeBuildLock } from "../../../../deploy/local/tools/build_lock.ts";
import { type Recipe, recipeDigest } from "../../../../deploy/local/tools/recipe.ts";
import { kubernetes } from "../../../../deploy/local/tools/recipes/kubernetes.ts";
import { resolveTools } from "../../../../deploy/local/tools/resolve_tools.ts";
import { cachedPath, fillCache } from "../../../../deploy/local/tools/tool_cache.ts";
import { ToolSandbox } from "./tool_sandbox.ts";

Deno.test("resolveTools: builds only requested tools, and builds the tools of one module together", async () => {
  await using sandbox = new ToolSandbox();
  await resolveTools(["kubectl", "etcd", "kube-apiserver", "kubectl"], sandbox.options());
  assert.deepEqual(sandbox.builds.map(({ tools }) => tools), [["kubectl", "kube-apiserver"], ["etcd"]]);
  await resolveTools(["kubectl", "kube-controller-manager"], sandbox.options());
  assert.deepEqual(sandbox.builds[2]?.tools, ["kube-controller-manager"]);
});

Deno.test("resolveTools: reports a tool as found, or as building and then as built", async () => {
  await using sandbox = new ToolSandbox();
  await sandbox.script("bin/etcd", "echo 'etcd Version: 3.6.0'");
  await sandbox.script("bin/tctl", "echo 'tctl version 1.16.0'");
  await resolveTools(["etcd", "tctl"], sandbox.options());
  const told = sandbox.events.map(({ tool, state }) => `${tool} ${state}`);
  assert.deepEqual(told, ["etcd found", "tctl building", "tctl built"]);
  assert.match(sandbox.events[1]?.detail ?? "", /passed over: .*tctl is 1\.16 \(wanted 1\.18\)/);
});

Deno.test("recipeDigest: changes with the recipe, and not with the other tools of the recipe", () => {
  const digest = recipeDigest(kubernetes, "kubectl");
  const newer: Recipe = { ...kubernetes, requires: ["k8s.io/kubernetes v1.36.2"] };
  const fewer: Recipe = { ...kubernetes, packages: { kubectl: kubernetes.packages.kubectl ?? "" } };
  assert.match(digest, /^[0-9a-f]{16}$/);
  assert.notEqual(recipeDigest(newer, "kubectl"), digest);
  assert.equal(recipeDigest(fewer, "kubectl"), digest);
});

Deno.test("fillCache: rebuilds when the recipe changes and keeps the old build", async () => {
  await using sandbox = new ToolSandbox();
  const cache = { folder: sandbox.cache, build: sandbox.build, onWait: () => {} };
  const newer: Recipe = { ...kubernetes, ldflags: "" };
  assert.deepEqual(await fillCache(cache, kubernetes, ["kubectl"]), ["kubectl"]);
  assert.deepEqual(await fillCache(cache, kubernetes, ["kubectl"]), []);
  assert.deepEqual(await fillCache(cache, newer, ["kubectl"]), ["kubectl"]);
  const paths = [kubernetes, newer].map((recipe) => cachedPath(sandbox.cache, recipe, "kubectl"));
  for (const path of paths) assert.equal((await Deno.stat(path)).isFile, true);
});

Deno.test("resolveTools: never uses the leftovers of a failed build", async () => {
  await using sandbox = new ToolSandbox();
  const dies = async (order: Parameters<typeof sandbox.build>[0]): Promise<void> => {
    await sandbox.build(order);
    throw new Error("linker died");
  };
  await assert.rejects(resolveTools(["etcd"], { ...sandbox.options(), build: dies }), /linker died/);
  assert.deepEqual([...Deno.readDirSync(join(sandbox.cache, ".work", "etcd"))], []);
  await resolveTools(["etcd"], sandbox.options());
  assert.equal(sandbox.builds.length, 2);
});

Deno.test("resolveTools: removes the leftovers of a killed run and does not build into them", async () => {
  await using sandbox = new ToolSandbox();
  const left = join(sandbox.cache, ".work", "etcd", "left", "bin");
  await Deno.mkdir(left, { recursive: true });
  await Deno.writeTextFile(join(left, "etcd"), "half", { mode: 0o755 });
  await resolveTools(["etcd"], sandbox.options());
  assert.equal(sandbox.builds.length, 1);
  assert.deepEqual([...Deno.readDirSync(join(sandbox.cache, ".work", "etcd"))], []);
});

Deno.test("resolveTools: builds once when two runs need the same tool", async () => {
  await using sandbox = new ToolSandbox();
  const { promise: isStarted, resolve: started } = Promise.withResolvers<void>();
  const { promise: isWaiting, resolve: waiting } = Promise.withResolvers<void>();
  const slow = async (order: Parameters<typeof sandbox.build>[0]): Promise<void> => {
    started();
    await isWaiting;
    await sandbox.build(order);
  };
  const first = resolveTools(["etcd"], { ...sandbox.options(), build: slow });
  await isStarted;
  const told: string[] = [];
  const second = resolveTools(["etcd"], {
    ...sandbox.options(),
    onProgress: ({ state, detail }) => {
      told.push(`${state} ${detail}`);
      if (state === "waiting") waiting();
    },
  });
  assert.deepEqual(await second, await first);
  assert.equal(sandbox.builds.length, 1);
  assert.equal(told[0], `waiting another run (process ${Deno.pid}) is building etcd`);
  assert.match(told[1] ?? "", /^found in the cache/);
});

Deno.test("takeBuildLock: releases the lock when disposed of and times out at its deadline", async () => {
  await using sandbox = new ToolSandbox();
  const path = join(sandbox.folder, "lock");
  const wait = { onWait: () => {}, waitMs: 0 };
  {
    using _held = await takeBuildLock(path, wait);
    await assert.rejects(takeBuildLock(path, wait), { name: "LockTimeout" });
  }
  using _again = await takeBuildLock(path, wait);
  assert.equal(await Deno.readTextFile(path), `${Deno.pid}`);
});

Deno.test("resolveTools: stops waiting for a lock when its signal aborts", async () => {
  await using sandbox = new ToolSandbox();
  await Deno.mkdir(join(sandbox.cache, ".work"), { recursive: true });
  using _held = await takeBuildLock(join(sandbox.cache, ".work", "etcd.lock"), { onWait: () => {} });
  const controller = new AbortController();
  const onProgress = (): void => controller.abort(new Error("enough"));
  const options = { ...sandbox.options(), onProgress, signal: controller.signal };
  await assert.rejects(resolveTools(["etcd"], options), { message: "enough" });
});
