/** The world of two clusters on one Temporal namespace, and the commands that show both. */
import assert from "node:assert/strict";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { withWorld } from "./world.ts";
import type { World } from "./world.ts";

/** The root of the repository, from which processes of Ostler are started. */
export const root = fileURLToPath(new URL("../../", import.meta.url));

export interface Named {
  metadata: { name: string; uid: string };
}

/** Runs a story in two clusters, "north" and "south", whose processes use the Temporal server of the first one. */
export async function inTwoClusters(story: (north: World, south: World) => Promise<void>): Promise<void> {
  await withWorld({ seed: 21, settings: { OSTLER_CLUSTER: "north" } }, async (north) => {
    const { address } = north.site.stack.temporal;
    const settings = { OSTLER_CLUSTER: "south", TEMPORAL_ADDRESS: address };
    await withWorld({ seed: 22, settings }, (south) => story(north, south));
  });
}

export interface Listed {
  name: string;
  uid: string;
  workers: number;
  rollouts: Record<string, number>;
  credentials: { schedule: string; renewedAt: string | null };
  needs: string[];
}

/** Expects that the list of clusters shows both, each with its worker and its Schedule. */
export async function listsBoth(north: World, south: World): Promise<void> {
  const { items, code } = await list(north);
  assert.deepEqual(items.map(({ name, workers, needs }) => [name, workers > 0, needs]), [
    ["north", true, []],
    ["south", true, []],
  ]);
  const uids = await Promise.all([north, south].map((world) => world.get<Named>("/api/v1/namespaces/kube-system")));
  assert.deepEqual(items.map(({ uid }) => uid), uids.map((one) => one?.metadata.uid));
  assert.deepEqual(items.map(({ credentials }) => credentials.schedule), ["Runs", "Runs"]);
  assert.equal(code, 0);
}

/** Returns the clusters as `ostler clusters --check` lists them, and its exit code. */
export async function list(world: World): Promise<{ items: Listed[]; code: number }> {
  const { code, out } = await ostler(world, ["clusters", "--check", "-o", "json"]);
  const { items } = JSON.parse(out) as { items: Listed[] };
  return { code, items: items.filter(({ name }) => name !== "") };
}

/** Runs `ostler` with access to Temporal, and without access to a cluster. */
export async function ostler({ site }: World, args: string[]): Promise<{ code: number; out: string }> {
  const env = { TEMPORAL_ADDRESS: site.stack.temporal.address, KUBECONFIG: "/nowhere", NO_COLOR: "1" };
  const { code, stdout } = await new Deno.Command(process.execPath, {
    args: ["run", "--no-prompt", "--cached-only", "--no-check", "--allow-all", "cli/main.ts", ...args],
    ...{ cwd: root, env, stderr: "inherit" },
  }).output();
  return { code, out: new TextDecoder().decode(stdout) };
}
