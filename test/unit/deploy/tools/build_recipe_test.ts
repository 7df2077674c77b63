import assert from "node:assert/strict";
import { join } from "node:path";
import { cureGoFailure, isPassing, lastWords } from "../../../../deploy/local/tools/go_command.ts";
import { wrapperModule } from "../../../../deploy/local/tools/recipe.ts";
import { kubernetes } from "../../../../deploy/local/tools/recipes/kubernetes.ts";
import { resolveTools } from "../../../../deploy/local/tools/resolve_tools.ts";
import type { ToolError } from "../../../../deploy/local/tools/tool_error.ts";
import type { ToolName } from "../../../../deploy/local/tools/tool_name.ts";
import { ToolSandbox } from "./tool_sandbox.ts";

const anyVersion = '[ "$1" = version ] && echo "go version go1.26.8 linux/amd64" && exit 0';

/** Runs the real build against a script that stands in for go, and returns the error. */
async function failureWith(sandbox: ToolSandbox, tools: readonly ToolName[], go?: string): Promise<ToolError> {
  if (go !== undefined) await sandbox.script("bin/go", go);
  try {
    await resolveTools(tools, { env: sandbox.env });
  } catch (error) {
    return error as ToolError;
  }
  assert.fail("resolved without an error");
}

Deno.test("resolveTools: names the tool, the required version and the variable when Go is missing", async () => {
  await using sandbox = new ToolSandbox();
  const { message } = await failureWith(sandbox, ["etcd"]);
  assert.equal(
    message,
    'Failed to build "etcd": step "check Go": no "go" on PATH\n' +
      '  cure: install Go 1.26 or later, with "go" on PATH; or set OSTLER_TOOL_ETCD to an existing binary',
  );
});

Deno.test("resolveTools: reports the version of a Go that is too old", async () => {
  await using sandbox = new ToolSandbox();
  const { message } = await failureWith(sandbox, ["tctl"], "echo 'go version go1.19.8 linux/amd64'");
  assert.match(message, /reports "go version go1\.19\.8 linux\/amd64"\n {2}cure: install Go 1\.26 or later/);
});

Deno.test("resolveTools: shows the last relevant lines of a failed compilation", async () => {
  await using sandbox = new ToolSandbox();
  const go = `${anyVersion}\nfor i in 1 2 3; do echo some/package/v$i >&2; done\necho 'main.go:3: broken' >&2\nexit 7`;
  const error = await failureWith(sandbox, ["kubectl", "kube-apiserver"], go);
  assert.equal(error.step, "compile");
  assert.match(
    error.message,
    /^Failed to build "kubectl", "kube-apiserver": step "compile": go build ended with exit code 7 /,
  );
  assert.match(
    error.message,
    / s\n {2}\| main\.go:3: broken\n {2}cure: set OSTLER_TOOL_KUBECTL, OSTLER_TOOL_KUBE_APISERVER, each to an existing binary of its tool$/,
  );
  assert.deepEqual([...Deno.readDirSync(join(sandbox.cache, ".work", "kubernetes"))], []);
});

Deno.test("resolveTools: shows the errors that go writes to standard output", async () => {
  await using sandbox = new ToolSandbox();
  const go = `${anyVersion}\nprintf '{\\n\\t"Error": "module lookup disabled by GOPROXY=off"\\n}\\n'\nexit 1`;
  const { message, step } = await failureWith(sandbox, ["machine-controller"], go);
  assert.equal(step, "download source");
  assert.match(
    message,
    /\| \t"Error": "module lookup disabled by GOPROXY=off"\n {2}cure: make the Go module proxy reachable/,
  );
});

Deno.test("resolveTools: passes output path, flags and this host's environment to go", async () => {
  await using sandbox = new ToolSandbox();
  const go = `${anyVersion}\n` +
    `while [ $# -gt 0 ]; do [ "$1" = -o ] && out=$2; last=$1; shift; done\n` +
    `echo "#!/bin/sh" > $out; echo "echo $last $CGO_ENABLED $GOPROXY [$GOWORK]" >> $out; /bin/chmod +x $out`;
  await sandbox.script("bin/go", go);
  const env = { ...sandbox.env, GOPROXY: "a-proxy", GOWORK: "/somewhere/go.work" };
  const { etcd } = await resolveTools(["etcd"], { env });
  assert.equal(await Deno.readTextFile(etcd), "#!/bin/sh\necho go.etcd.io/etcd/server/v3 0 a-proxy [off]\n");
});

/** A script in place of go: it names each binary as go does, and writes into the binary how it was built. */
const naming = `${anyVersion}\n` +
  `while [ $# -gt 0 ]; do case $1 in -o) out=$2; shift;; -ldflags) shift;; -tags) tags=$2; shift;; */*) paths="$paths $1";; esac; shift; done\n` +
  `write() { echo "#!/bin/sh\n# $GOOS $CGO_ENABLED [$tags] $2" > $1; /bin/chmod +x $1; }\n` +
  `case $out in */) for path in $paths; do write $out\${path##*/} $path; done;; *) write $out \${paths:-.};; esac`;

Deno.test("resolveTools: gives each of several binaries its name, and builds the programs that run on machines for Linux", async () => {
  await using sandbox = new ToolSandbox();
  await sandbox.script("bin/go", naming);
  const tools = await resolveTools(["cni-ptp", "cni-host-local"], { env: sandbox.env });
  const said = (path: string): string => Deno.readTextFileSync(path).split("\n# ")[1] ?? "";
  assert.equal(said(tools["cni-ptp"]), "linux 0 [] github.com/containernetworking/plugins/plugins/main/ptp\n");
  assert.match(said(tools["cni-host-local"]), /\/plugins\/ipam\/host-local\n$/);
  const { ctr } = await resolveTools(["ctr"], { env: sandbox.env });
  assert.match(said(ctr), /^linux 0 \[\S*static_build\S*\] \S+\/cmd\/ctr\n$/);
});

Deno.test("resolveTools: builds a tool of this project from source files next to go.mod", async () => {
  await using sandbox = new ToolSandbox();
  const go = `${anyVersion}\n` +
    `while [ $# -gt 0 ]; do [ "$1" = -o ] && out=$2; shift; done\n` +
    `echo "#!/bin/sh" > $out; echo "# $(/bin/ls go.mod main.go go_json/node.go | /usr/bin/wc -l)" >> $out; /bin/chmod +x $out`;
  await sandbox.script("bin/go", go);
  const { "check-machine-files": checker } = await resolveTools(["check-machine-files"], { env: sandbox.env });
  assert.equal(await Deno.readTextFile(checker), "#!/bin/sh\n# 3\n");
});

Deno.test("resolveTools: kills a running build and its child processes when its signal aborts", async () => {
  await using sandbox = new ToolSandbox();
  const alive = join(sandbox.folder, "alive");
  Deno.chmodSync(sandbox.folder, 0o755);
  await new Deno.Command("mkfifo", { args: [alive] }).output();
  // A read of this pipe ends only when every process that holds the pipe open for writing is gone.
  await sandbox.script("bin/go", `${anyVersion}\nexec 9>${alive}\n/bin/sleep 600 & echo compiling >&2; /bin/sleep 600`);
  const controller = new AbortController();
  const closed = Deno.readTextFile(alive);
  const onProgress = ({ detail }: { detail: string }): void => {
    if (detail === "compiling") controller.abort(new Error("stopped"));
  };
  const resolving = resolveTools(["etcd"], { env: sandbox.env, signal: controller.signal, onProgress });
  await assert.rejects(resolving, { message: "stopped" });
  assert.equal(await closed, "");
});

Deno.test("cureGoFailure: returns the remedy for the most specific cause of a failed Go build", () => {
  const cure = (line: string): string => cureGoFailure([line]) ?? "";
  const lookup = 'Get "https://sums.example/lookup/a@v1": dial tcp: lookup sums.example: no such host';
  assert.match(cure(`verifying a@v1/go.mod: a@v1/go.mod: ${lookup}`), /GOSUMDB=off, or GONOSUMDB/);
  assert.match(cure("verifying a@v1: checksum mismatch"), /differs from the published one/);
  assert.match(cure('Get "https://proxy.example/a/@v/v1.mod": dial tcp 1.2.3.4:443: i/o timeout'), /set GOPROXY/);
  assert.match(cure("go: download go1.26.0 for linux/amd64: toolchain not available"), /install Go 1\.26/);
  assert.match(cure("link: signal: killed"), /memory/);
  assert.match(cure('cgo: C compiler "gcc" not found: exec: "gcc": executable file not found'), /gcc libc6-dev/);
  assert.match(cure("/usr/bin/ld: cannot find -lc: No such file or directory"), /gcc libc6-dev/);
  assert.match(cure("write /x: no space left on device"), /disk space/);
  assert.equal(cureGoFailure(["main.go:3: broken"]), undefined);
});

Deno.test("isPassing: returns true for a network failure, and false for a checksum mismatch or a compile error", () => {
  assert.equal(isPassing(["read tcp 1.2.3.4:1: connection reset by peer"]), true);
  assert.equal(isPassing(["verifying a@v1: checksum mismatch"]), false);
  assert.equal(isPassing(["main.go:3: broken"]), false);
});

Deno.test("lastWords: returns the last lines of a build's output, without progress", () => {
  assert.deepEqual(lastWords(["go: downloading a v1", "a/b/c", "", "one more", "two more"], 1), ["two more"]);
  assert.deepEqual(lastWords(["go: downloading a v1", "a/b/c", "", "one more"]), ["one more"]);
});

Deno.test("wrapperModule: writes a go.mod with every staging module replaced", () => {
  const text = wrapperModule(kubernetes);
  assert.match(text, /^module \S+\n\ngo 1\.26\.0\n\nrequire k8s\.io\/kubernetes v1\.36\.\d+\n/);
  assert.match(text, /\nreplace k8s\.io\/api => k8s\.io\/api v0\.36\.\d+\n/);
});
