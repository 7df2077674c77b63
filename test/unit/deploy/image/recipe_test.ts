import { deepEqual, equal, match } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pinnedBase } from "../../../../deploy/local/machines/debian_base.ts";
import { archivesIn, snapshotForm } from "../../../../deploy/local/mirror/debian_archives.ts";
import { leanEnvironment } from "../../../../deploy/local/site/ostler_processes.ts";

const read = (path: string): Promise<string> => readFile(new URL(`../../../../${path}`, import.meta.url), "utf8");
const recipe = await read("deploy/image/Dockerfile");
const { tasks } = JSON.parse(await read("deno.json"));

/** Runs the image's command with a stand-in for Deno; returns the arguments that Deno would get. */
async function runs(...args: string[]): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), "command-"));
  try {
    const deno = join(folder, "deno");
    await writeFile(deno, `#!/bin/sh\nprintf '%s\\n' "$@"\n`);
    await chmod(deno, 0o755);
    const script = (await read("deploy/image/ostler")).replace("exec /usr/bin/deno", `exec ${deno}`);
    await writeFile(join(folder, "ostler"), script);
    const { stdout, stderr } = spawnSync("sh", [join(folder, "ostler"), ...args], { encoding: "utf8" });
    equal(stderr, "");
    return stdout.trim().split("\n");
  } finally {
    await rm(folder, { recursive: true });
  }
}

function allowances(words: readonly string[]): string[] {
  return words.filter((word) => word.startsWith("--allow-")).map((word) => word.split("=")[0] ?? "").sort();
}

for (const name of ["controller", "worker", "webhook"]) {
  Deno.test(`image: starts ${name} with the permissions of its Deno task, and allows it to execute at most the template renderer`, async () => {
    const words = await runs(name, "--cluster=a b");
    deepEqual(allowances(words), allowances(tasks[name].command.split(" ")));
    deepEqual(words.slice(-2), [`/opt/ostler/workers/${name}.ts`, "--cluster=a b"]);
    const runnable = words.filter((word) => word.startsWith("--allow-run"));
    deepEqual(runnable, name === "controller" ? [] : ["--allow-run=/bin/sh,/usr/bin/deno"]);
  });
}

Deno.test('image: runs workers/all.ts for the argument "all", with the permissions of the worker, and ostler for arguments that name no process', async () => {
  const [all, worker, setup] = await Promise.all([runs("all"), runs("worker"), runs("setup", "--dry-run")]);
  deepEqual(allowances(all), allowances(worker));
  equal(all.at(-1), "/opt/ostler/workers/all.ts");
  deepEqual(setup.slice(-3), ["/opt/ostler/cli/main.ts", "setup", "--dry-run"]);
  deepEqual(allowances(setup), allowances(tasks.ostler.command.split(" ")));
});

Deno.test("image: has the Deno version of the tests, and the memory settings of the manifests", () => {
  equal(/^ARG DENO=denoland\/deno:bin-([\d.]+)@/m.exec(recipe)?.[1], Deno.version.deno);
  for (const [name, value] of Object.entries(leanEnvironment)) match(recipe, new RegExp(` ${name}=${value}[ \n]`));
});

Deno.test("fault S9: image: starts from images by digest, and takes Debian's packages from a snapshot", () => {
  const digests = [...recipe.matchAll(/^ARG (BASE|DENO)=(\S+@sha256:[0-9a-f]{64})$/gm)];
  deepEqual(digests.map(([, name]) => name), ["BASE", "DENO"]);
  equal(digests[0]?.[2], pinnedBase);
  const stages = [...recipe.matchAll(/^FROM (\S+)/gm)].map(([, from]) => from);
  deepEqual([...new Set(stages)].sort(), ["${BASE}", "${BUILD_BASE}", "${BUILD_DENO}", "${DENO}"]);
  const [, day] = /^ARG SNAPSHOT=(\d{8})T\d{6}Z$/m.exec(recipe) ?? [];
  equal(day, /-(\d{8})-/.exec(pinnedBase)?.[1], "Expected the snapshot of the base");
  const archives = { debian: "http://here.example/debian", "debian-security": "http://here.example/security" };
  deepEqual(archivesIn(archives, ""), archives);
  const snapshot = "http://there.example/archive/debian/20260824T000000Z";
  match(snapshot, snapshotForm);
  deepEqual(archivesIn(archives, snapshot), {
    ...{ debian: snapshot, "debian-security": "http://there.example/archive/debian-security/20260824T000000Z" },
  });
});

Deno.test("image: has the user of the chart, and the ports of the settings", async () => {
  const chart = await read("deploy/chart/templates/_pod.tpl");
  const [, user, group] = /^USER (\d+):(\d+)$/m.exec(recipe) ?? [];
  match(chart, new RegExp(`runAsUser: ${user}\n\\s*runAsGroup: ${group}\n`));
  match(await read("deploy/chart/templates/_deployment.tpl"), /args: \[\{\{ \.process \}\}\]/);
  equal(/^EXPOSE (.*)$/m.exec(recipe)?.[1], "8081 9443");
});
