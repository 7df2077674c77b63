/** Builds Ostler's image as a release does, and runs it as the chart does: without privileges, on a read-only root. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePorts } from "../../deploy/local/process/free_ports.ts";
import { httpProbe } from "../../deploy/local/process/http_probe.ts";
import { waitUntil } from "../../deploy/local/process/wait_until.ts";
import { type ImageGround, withImage } from "./image/image_ground.ts";
import { machineTest } from "../machines/real_machines.ts";

machineTest("image: has what it needs and no more, and runs without privileges", async (t) => {
  await withImage(async (ground) => {
    await t.step("the image runs as a numeric user, lists its packages, and is read-only", () => describes(ground));
    for (const name of ["worker", "controller", "all"]) {
      await t.step(`${name} stays up without API server and Temporal, and exits with 0 on SIGTERM`, async () => {
        await waits(ground, name);
      });
    }
    await t.step("a second build has the same digest", async () => {
      assert.equal((await ground.buildAgain()).digest, ground.image.digest);
    });
  });
});

async function describes(ground: ImageGround): Promise<void> {
  const { Config, Architecture, Id } = await ground.inspect();
  assert.equal(Id, ground.image.id);
  assert.ok(ground.image.bytes < 300e6, `The compressed image has ${ground.image.bytes} bytes`);
  assert.equal(Config.User, "65532:65532");
  assert.match(Config.Labels["org.opencontainers.image.version"] ?? "", /^0\.0\.0-test/);
  assert.match(Config.Labels["org.opencontainers.image.revision"] ?? "", /^[0-9a-f]{40}/);
  const list = await said(ground, "cat bill_of_materials.spdx.json");
  const { packages } = JSON.parse(list) as { packages: { name: string }[] };
  for (
    const name of ["libc6", "tini", "@temporalio/worker", "@kubernetes/client-node", "github.com/Masterminds/sprig/v3"]
  ) {
    assert.ok(packages.some((one) => one.name === name), `The list lacks "${name}"`);
  }
  const modules = await said(ground, "ls node_modules node_modules/.deno");
  assert.doesNotMatch(`${list}${modules}`, /testcontainers|playwright|@swc/);
  const machine = Architecture === "arm64" ? "aarch64" : "x86_64";
  const natives = (await said(ground, "find . -name '*.node'")).trim().split("\n");
  assert.deepEqual(natives.map((path) => path.includes(machine)), [true]);
  assert.match(
    await said(ground, "exec 2>&1; id -u; touch x || touch /home/ostler/x || true"),
    /^65532\n.*\n.*Read-only file system/s,
  );
}

async function waits(ground: ImageGround, name: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "ostler-image-test-"));
  try {
    const file = join(folder, "kubeconfig");
    await writeFile(file, kubeconfig, { mode: 0o644 });
    const [health = 0, webhook = 0] = await freePorts(2);
    const container = await ground.start({
      args: [name, `--health-probe-address=127.0.0.1:${health}`, `--webhook-address=127.0.0.1:${webhook}`],
      env: { KUBECONFIG: "/kubeconfig", TEMPORAL_ADDRESS: "127.0.0.1:9" },
      mounts: { "/kubeconfig": file },
    });
    const probe = httpProbe({ url: `http://127.0.0.1:${health}/healthz` });
    await waitUntil(probe, { what: `life of "${name}"`, timeoutMs: 60_000 }).catch(async (error: unknown) => {
      throw new Error(await container.said(), { cause: error });
    });
    await container.signal("SIGTERM");
    assert.equal(await container.ended(), 0, await container.said());
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** A kubeconfig whose API server does not exist. */
const kubeconfig = JSON.stringify({
  apiVersion: "v1",
  kind: "Config",
  clusters: [{ name: "none", cluster: { server: "https://127.0.0.1:9" } }],
  users: [{ name: "nobody", user: { token: "none" } }],
  contexts: [{ name: "none", context: { cluster: "none", user: "nobody" } }],
  "current-context": "none",
});

/** Runs a shell script in the image, and returns its output on both streams. */
async function said(ground: ImageGround, script: string): Promise<string> {
  const shell = await ground.start({ entrypoint: ["/bin/sh", "-c"], args: [`cd /opt/ostler; ${script}`] });
  assert.equal(await shell.ended(), 0, await shell.said());
  return await shell.said();
}
