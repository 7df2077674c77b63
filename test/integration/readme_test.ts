/** README and documentation are correct: their commands have the described effect on a running rollout. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, readFile, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { machineDeployment, poolPath, poolsPath, rollTo } from "./pool_objects.ts";
import { testInWorld } from "./shared_world.ts";
import type { World } from "./world.ts";

const pluginPath = fileURLToPath(new URL("../../cli/kubectl-ostler", import.meta.url));

const read = (path: string): Promise<string> => readFile(new URL(`../../${path}`, import.meta.url), "utf8");
const pages = `${await read("README.md")}\n${await read("docs/how-to/operate.md")}`;

function textOf(section: string): string {
  return pages.split(/^##+ /m).find((part) => part.startsWith(section)) ?? "";
}

/** Returns the commands in the console blocks of a section. */
function typedIn(section: string): string[] {
  const blocks = [...textOf(section).matchAll(/```console\n([\s\S]*?)```/g)].map(([, block = ""]) => block);
  return blocks.flatMap((block) => [...block.matchAll(/^\$ ((?:.*\\\n)*.*)$/gm)].map(([, command = ""]) => command));
}

/**
 * Returns the commands of section "Inspect and control" that only read. Removes `-w`, because a live view does not end.
 */
function questions(machine: string): string[] {
  const told = [...textOf("Inspect and control").matchAll(/`(ostler (?:status|explain|plan|history|logs) [^`]+)`/g)];
  const commands = told.map(([, command = ""]) => command.replace(/ -w$/, "").replace("pool-7d9f4-x2lqv", machine));
  assert.ok(commands.length >= 6 && commands.some((command) => command.includes(machine)), commands.join("\n"));
  return commands;
}

/**
 * Returns the commands of a section's shell blocks, in order. A test must not run the commands of the quick start,
 * whose `task test` would run this very test.
 */
function commandsOf(section: string): string[] {
  const text = textOf(section);
  const blocks = [...text.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = ""]) => block);
  return blocks.flatMap((block) => block.trim().split("\n"));
}

const slow = { bootSeconds: { min: 4, max: 5 } };

testInWorld(
  "documentation: the commands of README and docs/how-to/operate.md have the described effect",
  { script: slow },
  async (world, t) => {
    const commands = commandsOf("Inspect and control");
    assert.ok(commands.length >= 10, `Found only ${commands.length} commands`);
    await t.step("the documented commands for a running rollout succeed", () => operate(world, commands));
    await world.remove(poolPath("pool"));
    await world.until("the pool to go", async () => (await world.get(poolPath("pool"))) === undefined, 120);
    await t.step("the documented command continues a halted rollout", () => goesOn(world));
  },
);

const versions = "/apis/update.edgeless.systems/v1alpha1/nodeversions";
const nodes = {
  ...{ apiVersion: "update.edgeless.systems/v1alpha1", kind: "NodeVersion", metadata: { name: "nodes" } },
  spec: { image: "image-1", imageVersion: "", kubernetesComponentsReference: "", kubernetesClusterVersion: "" },
};

async function operate(world: World, commands: string[]): Promise<void> {
  await world.create(versions, nodes);
  await world.create(poolsPath(), machineDeployment({ replicas: 2 }));
  await world.untilPhase("pool", "Converged");
  const [change = "", ...looks] = typedIn("A change");
  await run(world, change);
  await world.until("a running rollout", async () => (await world.status("pool"))?.phase === "Rolling");
  const [running, starting] = split(commands);
  for (const command of running) await run(world, command);
  for (const look of looks) await run(world, look);
  await world.untilPhase("pool", "Converged");
  const [machine] = world.site.cloud.machines().filter(({ phase }) => phase === "ready");
  for (const question of questions(machine?.name ?? "")) await run(world, question);
  await world.remove(`${versions}/nodes`);
  for (const command of starting) await runWhenIdle(world, command);
}

async function goesOn(world: World): Promise<void> {
  await world.create(poolsPath(), machineDeployment({ replicas: 0, profile: "osp-nowhere" }));
  await world.untilPhase("pool", "Halted");
  for (const command of commandsOf("Fix a halted rollout")) await run(world, command);
}

Deno.test("README quick start names existing tasks", async () => {
  const { tasks } = JSON.parse(await readFile(new URL("../../deno.json", import.meta.url), "utf8"));
  const named = commandsOf("Quick start").map((command) => /task (\S+)$/.exec(command)?.[1] ?? command);
  assert.deepEqual(named.filter((name) => !(name in tasks)), []);
});

function split(commands: string[]): [string[], string[]] {
  const first = commands.findIndex((command) => command.includes("workflow start"));
  return [commands.slice(0, first), commands.slice(first)];
}

// Runs a command in the state that it needs: `cancel` during a rollout, and every other command when the last run of
// the pool has ended.
async function runWhenIdle(world: World, command: string): Promise<void> {
  const handle = world.temporal.workflow.getHandle("machine-deployment/kube-system/pool");
  if (command.includes(" cancel ")) {
    await world.patch(poolPath("pool"), rollTo("1.35.3"));
    await world.until("a running rollout", async () => (await world.status("pool"))?.phase === "Rolling");
    await run(world, command);
    const status = await world.untilPhase("pool", "Aborted");
    assert.equal(status.reason, "Cancelled");
    return;
  }
  await world.until("no run", async () => (await handle.describe()).status.name !== "RUNNING");
  await run(world, command);
  assert.equal((await handle.result() as { outcome: string }).outcome, "Converged");
}

async function run(world: World, command: string): Promise<void> {
  const { address } = world.site.stack.temporal;
  const { temporal, tctl, kubectl } = world.tools;
  const folder = join(world.site.stack.directory, "bin");
  await mkdir(folder, { recursive: true });
  await symlink(pluginPath, join(folder, "ostler")).catch(() => undefined); // fails after the first command
  const env = {
    ...process.env,
    PATH: [folder, ...[temporal, tctl, kubectl].map((tool) => dirname(tool)), process.env["PATH"]].join(":"),
    DENO: process.execPath,
    KUBECONFIG: world.site.stack.adminKubeconfig,
    TEMPORAL_ADDRESS: address,
    TEMPORAL_CLI_ADDRESS: address,
  };
  try {
    await promisify(execFile)("/bin/sh", ["-c", command], { env, timeout: 120_000 });
  } catch (error) {
    throw new Error(`A command of the documentation failed: ${command}`, { cause: error });
  }
}
