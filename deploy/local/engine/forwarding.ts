import { definedVariables, type Environment } from "../tools/environment.ts";
import { runCommand } from "../tools/run_command.ts";
import { type AddressPool, chooseAddressPool, routedNetworks } from "./address_pool.ts";
import type { EngineFolders } from "./engine_folders.ts";

/** Chooses addresses that lead nowhere else on this host. */
export async function freeAddressPool(env: Environment): Promise<AddressPool> {
  const routes = await run("ip", ["-json", "-4", "route", "show", "table", "all"], env);
  return chooseAddressPool(routedNetworks(JSON.parse(routes || "[]") as { dst?: string }[]));
}

/**
 * Makes the engine's bridge and lets its containers reach the outside. Docker's own rules would do that too, but they take
 * over chains that belong to another engine of this host, and none of them goes when the engine stops.
 */
export async function openForwarding(folders: EngineFolders, pool: AddressPool, env: Environment): Promise<void> {
  await closeForwarding(folders, env);
  await run("ip", ["link", "add", folders.bridge, "type", "bridge"], env);
  await run("ip", ["address", "add", pool.bridgeAddress, "dev", folders.bridge], env);
  await run("ip", ["link", "set", folders.bridge, "up"], env);
  for (const [table, chain, ...rule] of forwardingRules(pool)) {
    await run("iptables", ["-w", "-t", table, "-I", chain, ...rule, ...markOf(folders)], env);
  }
}

/** Takes back what `openForwarding` did, as far as it is there; rules of others stay as they are. */
export async function closeForwarding(folders: EngineFolders, env: Environment): Promise<void> {
  for (const table of ["filter", "nat"]) {
    const rules = (await run("iptables", ["-w", "-t", table, "-S"], env)).split("\n");
    for (const rule of rules.filter((line) => line.startsWith("-A ") && line.includes(markOf(folders).at(-1) ?? ""))) {
      await run("iptables", ["-w", "-t", table, "-D", ...rule.split(" ").slice(1)], env);
    }
  }
  await removeBridge(folders.bridge, env);
}

/** Removes a bridge if it is there. */
export async function removeBridge(name: string, env: Environment): Promise<void> {
  const links = JSON.parse(await run("ip", ["-json", "link", "show"], env)) as { ifname: string }[];
  if (links.some(({ ifname }) => ifname === name)) await run("ip", ["link", "delete", name], env);
}

type Rule = readonly [table: string, chain: string, ...match: string[]];

/** Every bridge of ours is named ostler…; none of these rules matches what does not come from or answer our containers. */
export function forwardingRules({ cidr }: AddressPool): Rule[] {
  const answers = ["-m", "conntrack", "--ctstate", "RELATED,ESTABLISHED"];
  return [
    ["filter", "FORWARD", "-o", "ostler+", ...answers, "-j", "ACCEPT"],
    ["filter", "FORWARD", "-i", "ostler+", "-j", "ACCEPT"],
    ["nat", "POSTROUTING", "-s", cidr, "!", "-o", "ostler+", "-j", "MASQUERADE"],
  ];
}

function markOf({ id }: EngineFolders): string[] {
  return ["-m", "comment", "--comment", `ostler-${id}`];
}

async function run(program: string, args: readonly string[], env: Environment): Promise<string> {
  const { code, stdout, lines } = await runCommand({ program, args, env: definedVariables(env) });
  if (code === 0) return stdout;
  throw new Error(`Cannot run "${program} ${args.join(" ")}": it ended with ${code}: "${lines.join("; ")}"`);
}
