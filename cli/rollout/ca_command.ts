/** `ostler ca`: shows which CAs the machines of pools trust. */
import type { Kube } from "../../activities/kube/client.ts";
import { nodePools } from "../../activities/kube/node_pools.ts";
import { ifFound } from "../../activities/kube/status.ts";
import { scalingGroups } from "../../activities/kube/update_kinds.ts";
import { casIn } from "../../activities/status/ca_bundle.ts";
import { ifAllowed, listAll } from "../connect/cluster.ts";
import type { World } from "../connect/world.ts";
import { Refusal } from "../failure.ts";
import { styled, type Terminal } from "../terminal.ts";
import { counted } from "../../workflows/policy/counted.ts";
import { asData, type Format } from "../view/output.ts";
import { readTextFile } from "../yaml_file.ts";
import { UsageError } from "../usage_error.ts";
import { plainTable } from "../view/plain_table.ts";
import { trustFaults } from "../view/trust_text.ts";
import { type ClusterTrust, clusterTrust, noGivenPools, type TrustRow } from "./ca_trust.ts";
import type { ClusterFlags } from "./cluster_command.ts";
import { type Chosen, chosenBy, hasGroups, poolName, readRows } from "./pools.ts";

export interface CaFlags extends ClusterFlags {
  output: Format;
  /** Leaves out pools whose machines do not get their CAs from Ostler. */
  givenOnly?: boolean;
  /** A PEM file with the CAs that machines have to trust. */
  bundle?: string;
}

/**
 * Prints a line per selected pool, by default for all pools of the cluster. Returns exit code 0 if all machines trust
 * exactly the cluster's present CAs, else 1.
 */
export async function showCaTrust(terminal: Terminal, world: World, flags: CaFlags): Promise<number> {
  const cluster = await world.cluster();
  const isWhole = [flags.pool, flags.namespace, flags.selector].every((flag) => flag === undefined) && !flags.all;
  const chosen = chosenBy(isWhole ? { ...flags, allNamespaces: true } : flags, cluster, true);
  if (!flags.givenOnly && chosen.kind === "many") await needOtherKinds(cluster.kube, chosen);
  const found = await readRows(cluster, chosen);
  const rows = found.filter(({ pool }) => !flags.givenOnly || pool.kind === undefined);
  // Exit code 0 means to scripts that the rotation is complete, so a selection without a pool is refused.
  if (rows.length === 0) throw new Refusal(`Failed to check what machines trust: ${noGivenPools(chosen, found)}`);
  const bundle = flags.bundle === undefined ? undefined : await readBundle(terminal, flags.bundle);
  const trust = await clusterTrust(cluster.kube, rows, { namespace: namespaceOf(chosen), bundle, now: world.now() });
  const faults = trust.rows.map((row) => ({ row, faults: trustFaults(row) })).filter(({ faults }) => faults.length > 0);
  const isComplete = faults.length === 0;
  terminal.out(asData(flags.output, dataOf(trust, isComplete)) ?? tableOf(terminal, trust));
  if (flags.output === "table" || flags.output === "wide") {
    const lines = faults.map(({ row, faults }) => `${poolName(row.pool)}: ${faults.join("; ")}`);
    terminal.out(`\n${[...lines, conclusion(trust, isComplete)].join("\n")}\n`);
  }
  return isComplete ? 0 : 1;
}

/**
 * Throws Refusal if the user may not list NodePools or ScalingGroups: such pools would be missing, and without them the
 * rotation could count as complete.
 */
async function needOtherKinds(kube: Kube, { labelSelector, namespace }: Chosen & { kind: "many" }): Promise<void> {
  const labelled = labelSelector === undefined ? {} : { labelSelector };
  const inNamespace = namespace === undefined ? labelled : { ...labelled, namespace };
  const lists = [
    { kind: "NodePools", list: () => listAll(kube, nodePools, inNamespace) },
    ...(hasGroups(namespace) ? [{ kind: "ScalingGroups", list: () => listAll(kube, scalingGroups, labelled) }] : []),
  ];
  for (const { kind, list } of lists) {
    // A cluster without the CRD has no pool of this kind.
    const found = await ifAllowed(ifFound(list()).then((items = []) => items));
    if (found !== undefined) continue;
    throw new Refusal(
      `Failed to check what machines trust: you are not allowed to list ${kind} ${
        namespace === undefined ? "in all namespaces" : `in namespace "${namespace}"`
      }; to omit pools whose CAs Ostler does not provide, give --given-only`,
    );
  }
}

async function readBundle(terminal: Terminal, file: string): Promise<string> {
  const pem = await readTextFile(terminal, file);
  if (casIn(pem).length > 0) return pem;
  throw new UsageError(`Failed to use "${file}" as a CA bundle: it has no PEM certificate`);
}

function namespaceOf(chosen: Chosen): string | undefined {
  return chosen.kind === "one" ? chosen.pool.namespace : chosen.namespace;
}

function dataOf({ present, rows }: ClusterTrust, isComplete: boolean): object {
  return {
    complete: isComplete,
    ...(present === undefined ? {} : { cas: present }),
    items: rows.map(({ pool, isPublished, isGiven, outdatedTemplates: _, ...counts }) => {
      return { ...pool, ...counts, published: isPublished, given: isGiven };
    }),
  };
}

const head = ["NAMESPACE", "NAME", "MACHINES", "LACKING", "UNKNOWN", "TRUSTING OTHERS", "PUBLISHED"];

function tableOf(terminal: Terminal, { rows }: ClusterTrust): string {
  return plainTable(rows.map((row) => [row.pool.namespace, row.pool.name, ...countsOf(terminal, row)]), head);
}

function countsOf(
  terminal: Terminal,
  { machines, lacking, unknown, trustingOthers, isPublished, isGiven }: TrustRow,
): string[] {
  if (!isGiven) return ["?", "?", "?", "?", "not by Ostler"];
  const bad = (count: number): string => count > 0 ? styled(terminal, "yellow", String(count)) : "0";
  const published = isPublished ? "yes" : styled(terminal, "yellow", "not yet");
  return [String(machines), bad(lacking), bad(unknown), bad(trustingOthers), published];
}

function conclusion({ present, rows }: ClusterTrust, isComplete: boolean): string {
  const cas = present === undefined
    ? "the CAs that their pools publish"
    : `the ${counted(present.length, "CA")} ${present.join(", ")}`;
  if (!isComplete) return `Not complete: not all machines are known to trust exactly ${cas}`;
  const machines = rows.reduce((sum, row) => sum + row.machines, 0);
  return `Complete: all machines trust exactly ${cas}: ${counted(machines, "machine")} of ${
    counted(rows.length, "pool")
  }`;
}
