import assert from "node:assert/strict";
import { DockerApi } from "../../../../deploy/local/engine/docker_api.ts";
import { type Fitness, judgeEngine, unfitFacts } from "../../../../deploy/local/engine/engine_fitness.ts";
import { engineSearch, findEngine } from "../../../../deploy/local/engine/open_run.ts";
import { isDebianLike } from "../../../../deploy/local/engine/install_engine.ts";
import { freePorts } from "../../../../deploy/local/process/free_ports.ts";
import { FakeEngine } from "./fake_engine.ts";

const facts = {
  OSType: "linux",
  Driver: "overlay2",
  KernelVersion: "6.1.0",
  CgroupVersion: "1",
  SecurityOptions: ["name=seccomp,profile=default", "name=cgroupns"],
};

Deno.test("engineSearch: returns only DOCKER_HOST if set, otherwise the standard sockets", () => {
  assert.deepEqual(engineSearch({ DOCKER_HOST: "unix:///a.sock", HOME: "/h" }), { socketPaths: ["/a.sock"] });
  const usual = ["/var/run/docker.sock", "/r/docker.sock", "/h/.docker/run/docker.sock"];
  assert.deepEqual(engineSearch({ HOME: "/h", XDG_RUNTIME_DIR: "/r" }), { socketPaths: usual });
  const remote = engineSearch({ DOCKER_HOST: "tcp://10.0.0.1:2375" });
  assert.deepEqual(remote.socketPaths, []);
  assert.match(remote.refused ?? "", /DOCKER_HOST "tcp:\/\/10\.0\.0\.1:2375".*unix socket/);
});

Deno.test("unfitFacts: accepts an engine of this host and returns why another cannot run machines", () => {
  const judge = (change: Partial<typeof facts>): string | undefined => unfitFacts({ ...facts, ...change }, "6.1.0");
  assert.equal(judge({}), undefined);
  assert.equal(judge({ CgroupVersion: "2", SecurityOptions: [] }), undefined);
  assert.match(judge({ OSType: "windows" }) ?? "", /"windows" containers/);
  assert.match(judge({ KernelVersion: "6.6-linuxkit" }) ?? "", /another host/);
  assert.match(judge({ Driver: "vfs" }) ?? "", /storage driver "vfs"/);
  assert.match(judge({ SecurityOptions: ["name=rootless", "name=cgroupns"] }) ?? "", /rootless/);
  assert.match(judge({ SecurityOptions: [] }) ?? "", /--default-cgroupns-mode private/);
});

Deno.test("findEngine: returns the first engine that can run machines, and why the others cannot", async () => {
  const judge = (path: string): Promise<Fitness> =>
    Promise.resolve({ unfit: path === "/b.sock" ? undefined : "it is old", version: "28", driver: "overlay2" });
  const { engine, unfit } = await findEngine({ socketPaths: ["/a.sock", "/b.sock", "/c.sock"] }, judge);
  assert.equal(engine?.socketPath, "/b.sock");
  assert.deepEqual(unfit, [`"unix:///a.sock": it is old`]);
  assert.deepEqual(await findEngine({ socketPaths: [], refused: "no" }, judge), { engine: undefined, unfit: ["no"] });
});

Deno.test("judgeEngine: detects servers that are not an engine, and closed ports", async () => {
  await using stranger = await FakeEngine.start({});
  assert.match((await judgeEngine(stranger.api, {})).unfit ?? "", /not respond like an engine: .*404 "not faked"/);
  const [port = 0] = await freePorts(1);
  assert.match((await judgeEngine(new DockerApi({ port }), {})).unfit ?? "", /^no process listens on this socket$/);
});

Deno.test("judgeEngine: refuses an engine whose privileged containers fail, and leaves no container", async () => {
  await using engine = await FakeEngine.start({
    "GET /version": { Version: "28.0.0" },
    "GET /info": { ...facts, KernelVersion: Deno.osRelease() },
    "POST /images/create": {},
    "POST /containers/create": { Id: "c1" },
    "POST /containers/c1/start": {},
    "POST /containers/c1/wait": { StatusCode: 126 },
    "GET /containers/c1/logs": "unable to apply caps",
  });
  const { unfit } = await judgeEngine(engine.api, {});
  assert.match(unfit ?? "", /cannot run privileged containers: .*126.*unable to apply caps/);
  assert.ok(engine.calls.includes("DELETE /containers/c1?force=1&v=1"), engine.calls.join("\n"));
});

Deno.test("isDebianLike: recognizes Debian, Ubuntu and their derivatives", () => {
  assert.ok(isDebianLike('NAME="x"\nID=debian\n'));
  assert.ok(isDebianLike('ID=pop\nID_LIKE="ubuntu debian"\n'));
  assert.ok(!isDebianLike('ID=fedora\nVERSION_CODENAME="debian"\n'));
  assert.ok(!isDebianLike(""));
});
