import { definedVariables, type Environment } from "../tools/environment.ts";
import { runCommand } from "../tools/run_command.ts";
import { type AddressPool, chooseAddressPool, routedNetworks } from "./address_pool.ts";
import type { EngineFolders } from "./engine_folders.ts";

/** Chooses an address pool to which no route of this host leads. */
export async function freeAddressPool(env: Environment): Promise<AddressPool> {
  const routes = await run("ip", ["-json", "-4", "route", "show", "table", "all"], env);
  return chooseAddressPool(routedNetworks(JSON.parse(routes || "[]") as { dst?: string }[]));
}

/**
 * Creates the engine's bridge and lets its containers reach outside networks. Docker's own rules are not used, because
 * they take over the chains of another engine on this host, and remain when the engine stops.
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

/** Removes the bridge and the rules that `openForwarding` created, if they exist; keeps the rules of other programs. */
export async function closeForwarding(folders: EngineFolders, env: Environment): Promise<void> {
  for (const table of ["filter", "nat"]) {
    const rules = (await run("iptables", ["-w", "-t", table, "-S"], env)).split("\n");
    for (const rule of rules.filter((line) => line.startsWith("-A ") && line.includes(markOf(folders).at(-1) ?? ""))) {
      await run("iptables", ["-w", "-t", table, "-D", ...rule.split(" ").slice(1)], env);
    }
  }
  await removeBridge(folders.bridge, env);
}

/** Removes a bridge if it exists. */
export async function removeBridge(name: string, env: Environment): Promise<void> {
  const links = JSON.parse(await run("ip", ["-json", "link", "show"], env)) as { ifname: string }[];
  if (links.some(({ ifname }) => ifname === name)) await run("ip", ["link", "delete", name], env);
}

type Rule = readonly [table: string, chain: string, ...match: string[]];

/** Returns the rules for bridges named ostler…, which match only traffic from Ostler's containers and its responses. */
function forwardingRules({ cidr }: AddressPool): Rule[] {
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
  throw new Error(`Failed to run "${program} ${args.join(" ")}": exit code ${code}: "${lines.join("; ")}"`);
}
