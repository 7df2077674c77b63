import assert from "node:assert/strict";
import { once } from "node:events";
import { access } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { freePorts } from "../../../../deploy/local/process/free_ports.ts";
import { startOnFreePorts } from "../../../../deploy/local/process/start_on_free_ports.ts";
import type { ProcessSpec } from "../../../../deploy/local/process/supervised_process.ts";
import { Supervisor } from "../../../../deploy/local/process/supervisor.ts";
import { scratchDirectory } from "../../../support/scratch_directory.ts";

Deno.test("freePorts: returns different usable ports below the ephemeral range", async () => {
  const ports = await freePorts(20);
  assert.equal(new Set(ports).size, 20);
  assert.ok(ports.every((port) => port >= 20_000 && port < 32_000));
  const server = createServer();
  server.listen(ports[0], "127.0.0.1");
  await once(server, "listening");
  server.close();
  await once(server, "close");
});

Deno.test("freePorts: returns no port twice to concurrent calls", async () => {
  const ports = (await Promise.all([freePorts(10), freePorts(10), freePorts(10)])).flat();
  assert.equal(new Set(ports).size, 30);
});

Deno.test("freePorts: uses the range of OSTLER_PORTS, and refuses an invalid one", async () => {
  const ports = await freePorts(5, { OSTLER_PORTS: "27000-27099" });
  assert.ok(ports.every((port) => port >= 27_000 && port <= 27_099), ports.join());
  for (const range of ["27000", "27099-27000", "27000-70000", "a-b"]) {
    await assert.rejects(freePorts(1, { OSTLER_PORTS: range }), new RegExp(`OSTLER_PORTS "${range}"`));
  }
});

Deno.test("startOnFreePorts: retries on other ports when a port is taken at the last moment", async () => {
  await using scene = await given();
  const tried: number[] = [];
  const { ports, process } = await startOnFreePorts(scene.supervisor, {
    ports: ["web"],
    spec: ({ web }) => {
      tried.push(web);
      return scene.spec(tried.length === 1 ? "echo 'listen tcp: bind: address already in use' >&2; exit 1" : scene.up);
    },
  });
  assert.equal(tried.length, 2);
  assert.equal(ports.web, tried[1]);
  assert.ok(process.isRunning);
});

Deno.test("startOnFreePorts: rejects after one attempt when the process crashes for another reason than a taken port", async () => {
  await using scene = await given();
  let attempts = 0;
  const start = startOnFreePorts(scene.supervisor, {
    ports: ["web"],
    spec: () => {
      attempts++;
      return scene.spec("echo no such flag >&2; exit 2");
    },
  });
  await assert.rejects(start, /no such flag/);
  assert.equal(attempts, 1);
});

Deno.test("startOnFreePorts: gives up after four attempts that find their port taken", async () => {
  await using scene = await given();
  let attempts = 0;
  const start = startOnFreePorts(scene.supervisor, {
    ports: ["web"],
    spec: () => {
      attempts++;
      return scene.spec("echo EADDRINUSE; exit 1");
    },
  });
  await assert.rejects(start, /EADDRINUSE/);
  assert.equal(attempts, 4);
});

interface Scene extends AsyncDisposable {
  readonly supervisor: Supervisor;
  readonly up: string;
  readonly spec: (script: string) => ProcessSpec;
}

async function given(): Promise<Scene> {
  const scratch = await scratchDirectory();
  const supervisor = new Supervisor({ directory: scratch.path });
  return {
    supervisor,
    up: "touch up; exec sleep 600",
    spec: (script: string) => ({
      name: "web",
      command: "/bin/sh",
      args: ["-c", script],
      cwd: scratch.path,
      ready: () => access(join(scratch.path, "up")),
    }),
    async [Symbol.asyncDispose](): Promise<void> {
      await supervisor.stop();
      await scratch[Symbol.asyncDispose]();
    },
  };
}
