/** Tests that the program itself exits with the codes that README.md and `--help` promise. */
import assert from "node:assert/strict";
import { readFileSync, symlinkSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { exitCodes } from "../../../cli/failure.ts";
import { deploymentYaml, type Ended, FakeTerminal, profileYaml } from "../../support/fake_terminal.ts";
import { machineDeployment } from "../../support/machine_objects.ts";

interface Case {
  args: string[];
  code: number;
  says: RegExp;
  /** Set for cases that need their own process: one for each exit code, and those without a permission. */
  alone?: {
    stdin?: string;
    /** Forbids the program to start processes; it then fails unexpectedly, because it renders in child processes. */
    isCrippled?: boolean;
  };
}

const files = {
  "osp.yaml": profileYaml(),
  "changed.yaml": profileYaml({ data: "changed" }),
  "broken.yaml": profileYaml({ data: "<%= it.nope %>" }),
  "endless.yaml": profileYaml({ data: "<% for (;;); %>" }),
  "md.yaml": deploymentYaml(),
};

const tooMuch = "x".repeat(1_600_000);

const profileCases: Case[] = [
  { args: ["render", "osp.yaml", "md.yaml"], code: 0, says: /^profile +osp-acme/, alone: {} },
  { args: ["render", "broken.yaml", "md.yaml"], code: 2, says: /^broken\.yaml:16: Failed to render file/ },
  { args: ["render", "-", "md.yaml"], code: 2, says: /^Failed to read standard input: it /, alone: { stdin: tooMuch } },
  { args: ["render", "osp.yaml", "md.yaml"], code: 1, says: /Requires run access/, alone: { isCrippled: true } },
  { args: ["validate", "osp.yaml"], code: 0, says: /^osp-acme: no findings; / },
  { args: ["validate", "broken.yaml"], code: 1, says: /^broken\.yaml:16 +error +render / },
  { args: ["validate", "gone.yaml"], code: 2, says: /^Failed to read "gone\.yaml": it does not exist/ },
  {
    args: ["validate", "endless.yaml", "--timeout", "1s"],
    code: 3,
    says: /^Failed to check all profiles within 1s: /,
    alone: {},
  },
  {
    args: ["validate", "osp.yaml"],
    code: 2,
    says: /^Internal error: .*Requires run access/s,
    alone: { isCrippled: true },
  },
  { args: ["diff", "osp.yaml", "osp.yaml", "md.yaml"], code: 0, says: /^no difference: / },
  { args: ["diff", "osp.yaml", "changed.yaml", "md.yaml"], code: 1, says: /^before osp-acme/ },
  {
    args: ["diff", "osp.yaml", "osp.yaml", "md.yaml"],
    code: 2,
    says: /^Internal error: /,
    alone: { isCrippled: true },
  },
];

const there = ["--kubeconfig", "there.json"];
const away = ["--kubeconfig", "away.json"];

const clusterCases: Case[] = [
  { args: ["status", "gone", ...there], code: 1, says: /^Failed to find MachineDeployment/, alone: {} },
  {
    args: ["status", "pool", "-w", "--timeout", "1s", ...there],
    code: 3,
    says: /^Failed to reach the expected state within 1s/m,
  },
  { args: ["status", ...away], code: 4, says: /^Failed to reach Kubernetes at / },
  { args: ["status"], code: 4, says: /^Failed to reach Kubernetes: / },
  { args: ["status", "--kubeconfig", "plain.json"], code: 2, says: /^Failed to use "http:.*insecure-skip-tls-verify/ },
  { args: ["diff", "gone", ...there], code: 2, says: /^Failed to find MachineDeployment/ },
  { args: ["diff", "pool", ...away], code: 4, says: /^Failed to reach Kubernetes at / },
  { args: ["pause", ...there], code: 2, says: /^Failed to select pools/ },
  {
    args: ["pause", "pool", "--temporal-address", "127.0.0.1:1", ...there],
    code: 4,
    says: /^Failed to reach Temporal at /,
    alone: {},
  },
];

/** An API server with one pool whose rollout has not begun. */
async function startApi(): Promise<Server> {
  const { metadata: given, ...rest } = machineDeployment();
  const pool = { ...rest, metadata: { ...given, creationTimestamp: "2026-11-21T14:00:00Z" } };
  const server = createServer(({ url = "" }, response) => {
    const [path = ""] = url.split("?");
    const name = /\/(?:machinedeployments|rollouts|machines|nodes)\/([^/]+)$/.exec(path)?.[1];
    const isPools = path.includes("/machinedeployments");
    const metadata = { resourceVersion: "1" };
    const body = name === undefined
      ? { kind: "List", metadata, items: isPools ? [pool] : [] }
      : isPools && name === "pool"
      ? pool
      : { kind: "Status", status: "Failure", code: 404, reason: "NotFound", message: `"${name}" not found` };
    response.writeHead("code" in body ? 404 : 200, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  return server;
}

function kubeconfig(server: string, isUsable: boolean): string {
  return JSON.stringify({
    clusters: [{ name: "c", cluster: { server, "insecure-skip-tls-verify": isUsable } }],
    users: [{ name: "u", user: {} }],
    contexts: [{ name: "x", context: { cluster: "c", user: "u", namespace: "fleet" } }],
    "current-context": "x",
  });
}

const noCluster = { KUBECONFIG: "", KUBERNETES_SERVICE_HOST: "" };

const main = fileURLToPath(new URL("../../../cli/main.ts", import.meta.url));
// In another cache folder Deno would compile the whole program again.
const cache = Deno.env.get("DENO_DIR") ?? join(Deno.env.get("XDG_CACHE_HOME") ?? join(homedir(), ".cache"), "deno");
const granted = ["net", "read", "write", "env", "sys", "ffi", "run"];

async function run({ args, alone }: Case, terminal: FakeTerminal): Promise<{ code: number; text: string }> {
  const { directory } = terminal;
  const env = { HOME: directory, PATH: directory, NO_COLOR: "1", ...noCluster };
  const { code, out, err } = alone
    ? await runAlone(args, { ...alone, directory, env })
    : await terminal.run(args, { env });
  return { code, text: out.length > 0 && code < 2 ? out : err };
}

async function runAlone(args: string[], { stdin = "", isCrippled = false, directory, env }: Alone): Promise<Ended> {
  const permissions = granted.filter((name) => !isCrippled || name !== "run").map((name) => `--allow-${name}`);
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-prompt", "--no-check", "--no-lock", "--node-modules-dir=manual", ...permissions, main, ...args],
    env: { ...env, INIT_CWD: directory, DENO_DIR: cache },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  // A program that has read enough closes its standard input, and then writing to it fails.
  const sent = new Blob([stdin]).stream().pipeTo(child.stdin).catch(() => {});
  const [{ code, stdout, stderr }] = await Promise.all([child.output(), sent]);
  const decoder = new TextDecoder();
  return { code, out: decoder.decode(stdout), err: decoder.decode(stderr) };
}

interface Alone extends NonNullable<Case["alone"]> {
  directory: string;
  env: Record<string, string>;
}

Deno.test("ostler: exits with the documented codes", async () => {
  const server = await startApi();
  using terminal = new FakeTerminal(files);
  // Processes for templates need only `env` on the PATH; outside validators are slow, and have their own tests.
  symlinkSync("/usr/bin/env", join(terminal.directory, "env"));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  terminal.write("there.json", kubeconfig(url, true));
  terminal.write("away.json", kubeconfig("http://127.0.0.1:1", true));
  terminal.write("plain.json", kubeconfig(url, false));
  const wrong: string[] = [];
  const judge = async (one: Case): Promise<void> => {
    const { code, text } = await run(one, terminal);
    const isRight = code === one.code && one.says.test(text.replaceAll(/^checks skipped, .*\n/g, ""));
    if (!isRight) wrong.push(`${one.args.join(" ")} ended with ${code}: ${text}`);
  };
  const cases = [...profileCases, ...clusterCases];
  const processes = cases.filter(({ alone }) => alone).values();
  const inLane = async (): Promise<void> => {
    for (const one of processes) await judge(one);
  };
  try {
    // These cases run in the process of the tests, one after another, because each case ends its template engines.
    const inTurn = async (): Promise<void> => {
      for (const one of cases.filter(({ alone }) => !alone)) await judge(one);
    };
    await Promise.all([inLane(), inLane(), inTurn()]);
    assert.deepEqual(wrong, []);
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
});

Deno.test("exit codes: the cases of this file cover every code", () => {
  const codes = [...profileCases, ...clusterCases].filter(({ alone }) => alone && !alone.isCrippled).map(({ code }) =>
    code
  );
  assert.deepEqual([...new Set(codes)].sort(), [0, 1, 2, 3, 4]);
});

Deno.test("exit codes: README.md and --help promise the same", () => {
  const readme = readFileSync(new URL("../../../cli/README.md", import.meta.url), "utf8");
  const inReadme = [...readme.matchAll(/^\| (\d) \| /gm)].map(([, code]) => code);
  const inHelp = [...exitCodes.matchAll(/^ {2}(\d) {2}/gm)].map(([, code]) => code);
  assert.deepEqual(inReadme, ["0", "1", "2", "3", "4"]);
  assert.deepEqual(inHelp, inReadme);
});
