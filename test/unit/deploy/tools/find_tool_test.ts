import assert from "node:assert/strict";
import { join } from "node:path";
import { findTool } from "../../../../deploy/local/tools/find_tool.ts";
import { resolveTools } from "../../../../deploy/local/tools/resolve_tools.ts";
import { machineToolNames } from "../../../../deploy/local/tools/tool_name.ts";
import { ToolSandbox } from "./tool_sandbox.ts";

const suitableEtcd = "echo 'etcd Version: 3.6.9'";

Deno.test("resolveTools: prefers variable, then KUBEBUILDER_ASSETS, PATH, cache and build", async () => {
  await using sandbox = new ToolSandbox();
  const built = (await resolveTools(["etcd"], sandbox.options())).etcd;
  assert.equal(sandbox.builds.length, 1);
  const cached = (await resolveTools(["etcd"], sandbox.options())).etcd;
  assert.deepEqual([cached, sandbox.builds.length], [built, 1]);
  const onPath = await sandbox.script("bin/etcd", suitableEtcd);
  assert.equal((await resolveTools(["etcd"], sandbox.options())).etcd, onPath);
  const asset = await sandbox.script("assets/etcd", suitableEtcd);
  const assets = { KUBEBUILDER_ASSETS: join(sandbox.folder, "assets") };
  assert.equal((await resolveTools(["etcd"], sandbox.options(assets))).etcd, asset);
  const own = await sandbox.script("own/etcd-of-mine", "exit 1");
  const { etcd } = await resolveTools(["etcd"], sandbox.options({ ...assets, OSTLER_TOOL_ETCD: own }));
  assert.equal(etcd, own);
  assert.equal(sandbox.builds.length, 1);
});

Deno.test("findTool: skips binaries on PATH with an unaccepted version, and reports them", async () => {
  await using sandbox = new ToolSandbox();
  const old = await sandbox.script("bin/kubectl", "echo 'Client Version: v1.32.4'");
  const good = await sandbox.script("more/kubectl", "echo 'Client Version: v1.36.7'");
  const { PATH = "" } = sandbox.env;
  assert.deepEqual(await findTool("kubectl", { env: sandbox.env }), { detail: `${old} is 1.32 (wanted 1.36)` });
  const env = { PATH: `${PATH}:${join(sandbox.folder, "more")}` };
  assert.equal((await findTool("kubectl", { env })).path, good);
});

Deno.test("findTool: skips an unaccepted version in KUBEBUILDER_ASSETS, but accepts a binary that prints no version", async () => {
  await using sandbox = new ToolSandbox();
  const env = { KUBEBUILDER_ASSETS: join(sandbox.folder, "assets") };
  await sandbox.script("assets/kube-apiserver", "echo 'Kubernetes v1.30.0'");
  const silent = await sandbox.script("assets/machine-controller", "exit 2");
  assert.equal((await findTool("kube-apiserver", { env })).path, undefined);
  assert.equal((await findTool("machine-controller", { env })).path, silent);
});

Deno.test("findTool: never uses machine-controller from PATH", async () => {
  await using sandbox = new ToolSandbox();
  await sandbox.script("bin/machine-controller", "echo v1.66.0");
  assert.deepEqual(await findTool("machine-controller", { env: sandbox.env }), { detail: "" });
});

Deno.test("findTool: finds the programs that run on machines only by their OSTLER_TOOL_ variable, and never on PATH", async () => {
  await using sandbox = new ToolSandbox();
  for (const tool of machineToolNames) {
    for (const folder of ["bin", "assets"]) await sandbox.script(`${folder}/${tool}`, "echo 'Kubernetes v1.36.1'");
    const env = { ...sandbox.env, KUBEBUILDER_ASSETS: join(sandbox.folder, "assets") };
    assert.deepEqual(await findTool(tool, { env }), { detail: "" });
  }
  const path = await sandbox.script("own/kubelet", "");
  assert.equal((await findTool("kubelet-1.36", { env: { OSTLER_TOOL_KUBELET_1_36: path } })).path, path);
});

Deno.test("findTool: accepts a newer temporal and refuses an older one", async () => {
  await using sandbox = new ToolSandbox();
  const path = await sandbox.script("bin/temporal", "echo 'temporal version 1.6.2 (Server 1.30.0, UI 2.44.0)'");
  assert.equal((await findTool("temporal", { env: sandbox.env })).path, path);
  await sandbox.script("bin/temporal", "echo 'temporal version 1.4.9 (Server 1.28.0, UI 2.40.0)'");
  assert.equal((await findTool("temporal", { env: sandbox.env })).path, undefined);
});

Deno.test("findTool: skips a binary that does not respond in time", async () => {
  await using sandbox = new ToolSandbox();
  const hanging = await sandbox.script("bin/tctl", "while :; do /bin/sleep 60; done");
  const finding = await findTool("tctl", { env: sandbox.env, probeMs: 50 });
  assert.deepEqual(finding, { detail: `${hanging} does not print its version (wanted 1.18)` });
});

Deno.test("findTool: refuses a variable that names no executable file", async () => {
  await using sandbox = new ToolSandbox();
  const path = join(sandbox.folder, "note.txt");
  await Deno.writeTextFile(path, "");
  await assert.rejects(findTool("kube-apiserver", { env: { OSTLER_TOOL_KUBE_APISERVER: path } }), {
    message:
      `Failed to use "kube-apiserver": step "read OSTLER_TOOL_KUBE_APISERVER": "${path}" is not an executable file\n` +
      "  cure: set OSTLER_TOOL_KUBE_APISERVER to the path of the binary, or unset it",
  });
});
