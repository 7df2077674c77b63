/** Formats the plan of an upgrade of Kubernetes as text. */
import type { UpgradePlan } from "../rollout/planned_upgrade.ts";
import { stages } from "../rollout/node_versions.ts";
import type { PlannedUpgrade } from "../../workflows/kubernetes/upgrade_order.ts";
import { calledAs, styled, type Terminal } from "../terminal.ts";
import { counted } from "../../workflows/policy/counted.ts";
import { plainTable } from "./plain_table.ts";
import { printable } from "./printable.ts";
import { type Titled, titledLines } from "./titled_lines.ts";

/** Maximum control planes in the table, without -o wide. */
const most = 20;
const longest = 1_000;

/** Returns the present step, the control planes in their order, the findings, and the command for approval. */
export function upgradePlanText(terminal: Terminal, plan: UpgradePlan, wide: boolean): string {
  const { version: { name }, standing, order = [], end } = plan;
  const head = styled(terminal, "bold", `nodeversion/${name}: ${summary(plan)}`);
  const shown = order.slice(0, wide ? order.length : most);
  const table = shown.length === 0 ? [] : ["", ...tableOf(shown)];
  const more = order.length - shown.length;
  return [
    head,
    ...table,
    ...(more > 0
      ? [`${counted(more, "more control plane")}: ${calledAs(terminal)} plan nodeversion/${name} -o wide`]
      : []),
    "",
    ...titledLines(terminal, [
      ...(standing ? [["now", `${standing.reason}: ${printable(standing.message, longest)}`] as Titled] : []),
      ...(end && order.length > 0 ? [["later", `${end.reason}: ${printable(end.message, longest)}`] as Titled] : []),
      ...reportLines(plan),
      ...findingLines(terminal, plan),
      ...(order.length > 0 ? doorLines(terminal, plan) : []),
      ...stageLines(plan),
      ...plan.missing.map((each): Titled => ["unknown", styled(terminal, "yellow", `you are not allowed to ${each}`)]),
    ]),
    "",
  ].join("\n");
}

function summary(
  { version: { kubernetes }, kubernetes: { recorded, controlPlanes }, order, end }: UpgradePlan,
): string {
  const wanted = printable(kubernetes.version, 60);
  if (wanted === "") return "no Kubernetes version is wanted";
  if (order === undefined) {
    return `Kubernetes ${wanted} is wanted, but you are not allowed to read the state of the control planes`;
  }
  const count = order.length;
  const from = recorded === kubernetes.version ? "" : `${recorded || "?"} → `;
  if (count > 0) return `Kubernetes ${from}${wanted} on ${counted(count, "control plane")}`;
  if (end) return `cannot upgrade Kubernetes to ${wanted} now`;
  const all = controlPlanes?.length ?? 0;
  const planes = all === 1 ? "the control plane runs" : `all ${all} control planes run`;
  return `nothing to upgrade, ${planes} Kubernetes ${wanted}`;
}

function tableOf(order: readonly PlannedUpgrade[]): string[] {
  const rows = order.map(({ controlPlane: { node, kubelet, components, isLeader, isUnderWay }, verb }, nth) => [
    ...[String(nth + 1), printable(node, 253), kubelet || "?", components || "?"],
    [
      `kubeadm upgrade ${verb.toLowerCase()}`,
      ...(isUnderWay ? ["under way"] : []),
      ...(isLeader ? ["leads etcd"] : []),
    ].join(", "),
  ]);
  return plainTable(rows, ["ORDER", "CONTROL PLANE", "KUBELET", "COMPONENTS", "BY"]).trimEnd().split("\n");
}

/**
 * Returns the reason that Ostler's worker reported in condition KubernetesUpgraded, if the plan has a different reason:
 * Ostler's worker can read objects that the user of this command cannot read.
 */
function reportLines({ version: { kubernetes: { upgraded } }, standing }: UpgradePlan): Titled[] {
  if (!upgraded || upgraded.status === "True" || upgraded.reason === standing?.reason) return [];
  return [["reported", `${printable(upgraded.reason, 60)}: ${printable(upgraded.message, longest)}`]];
}

function findingLines(terminal: Terminal, { findings, unchecked, order = [] }: UpgradePlan): Titled[] {
  if (order.length === 0) return [];
  const found = findings.map(({ kind, stops, message }): Titled => {
    const text = `${kind}${stops ? ", which no approval overrides" : ""}: ${printable(message, longest)}`;
    return ["finding", styled(terminal, stops ? "red" : "yellow", text)];
  });
  return [
    ...(found.length > 0 ? found : [["finding", "none in the objects that you may read"] as Titled]),
    ["unchecked", unchecked.join("; ")],
  ];
}

/**
 * Returns lines that say that the upgrade cannot be reverted, whether a snapshot of etcd is kept, and which command
 * approves the upgrade.
 */
function doorLines(terminal: Terminal, { version, isApproved, keepsSnapshot }: UpgradePlan): Titled[] {
  const { name, kubernetes } = version;
  const annotation = `ostler.dev/approved-kubernetes=${kubernetes.version}`;
  const snapshots = keepsSnapshot
    ? "the policy keeps one before each control plane upgrade"
    : "none is kept: set etcd.snapshot in the RolloutPolicy of the control planes";
  return [
    ["one way", "kubeadm cannot downgrade: only a restored snapshot of etcd reverts the upgrade"],
    [
      "snapshot",
      keepsSnapshot === undefined ? "?" : keepsSnapshot ? snapshots : styled(terminal, "yellow", snapshots),
    ],
    [
      "approve",
      isApproved ? "approved" : `kubectl annotate --overwrite nodeversion ${name} ${annotation}`,
      true,
    ],
  ];
}

const titles = { ControlPlane: "control planes", Workers: "workers" };

/** Returns a line for each stage: the image that its groups get after the upgrade, and how many converged. */
function stageLines({ version: { groups, image, imageVersion, components } }: UpgradePlan): Titled[] {
  const target = printable(imageVersion || image);
  return stages.flatMap((stage): Titled[] => {
    const all = groups[stage];
    if (all.length === 0) return [];
    const done = all.filter(({ status }) => status?.phase === "Converged").length;
    const what = stage === "Workers" && components !== ""
      ? `image ${target} and components ${printable(components)}`
      : `image ${target}`;
    return [["then", `${what} for ${titles[stage]}: ${done} of ${counted(all.length, "group")} converged now`]];
  });
}
