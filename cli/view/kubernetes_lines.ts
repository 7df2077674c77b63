/** The Kubernetes versions of a cluster: wanted, recorded, their skew, etcd, and the control planes as a table. */
import { upgradeReason } from "../../workflows/kubernetes/upgrade_reasons.ts";
import type { KubernetesRow, PlaneRow, PlaneState } from "../rollout/kubernetes_status.ts";
import type { VersionRow } from "../rollout/node_versions.ts";
import { type MemberSeen, reportedEtcd } from "../rollout/reported_etcd.ts";
import { minorsAbove } from "../rollout/version_skew.ts";
import { calledAs, styled, type Terminal } from "../terminal.ts";
import { counted } from "../../workflows/policy/counted.ts";
import { plainTable } from "./plain_table.ts";
import { printable } from "./printable.ts";
import { quorumText } from "./quorum_text.ts";
import { type Titled, titledLines } from "./titled_lines.ts";

/** Maximum control planes in the table, without -o wide. */
export const mostPlanes = 20;

/** Maximum characters of a text from a status. */
const longest = 1_000;
/** Maximum problems of etcd that are shown. */
const mostDoubts = 5;

const providers = "no control plane is a node of this cluster, so the provider of the cluster upgrades Kubernetes";

/**
 * Returns the lines that need no further API request: the wanted version, the condition KubernetesUpgraded, and the
 * state of etcd if a voter is unhealthy or the members are unknown.
 */
export function upgradeLines(terminal: Terminal, version: VersionRow): string[] {
  const { kubernetes: { version: wanted, upgraded } } = version;
  const etcd = reportedEtcd(version)?.seen;
  const isInDoubt = etcd !== undefined && (etcd.quorum === 0 || etcd.healthy < etcd.voters);
  const isWanted = wanted !== "" || upgraded !== undefined;
  return titledLines(terminal, [
    ...(isWanted ? [["kubernetes", wantedText(wanted)] as Titled] : []),
    ...conditionLines(terminal, version),
    ...(isInDoubt ? [["etcd", quorumText(terminal, etcd, `, as sg/${etcd.group} reported`)] as Titled] : []),
  ]);
}

function wantedText(version: string): string {
  return version === "" ? "no version is wanted" : `${printable(version, 60)} is wanted`;
}

/**
 * Returns the lines about the whole cluster, then the table. With more than `most` control planes, the table has
 * only the `most` most urgent, sorted by urgency. Returns no lines if no control plane is a node of the cluster, and
 * neither the NodeVersion nor kubeadm names a version.
 */
export function kubernetesLines(
  terminal: Terminal,
  version: VersionRow,
  { row, most }: { row: KubernetesRow; most: number },
): string[] {
  const isProviders = row.controlPlanes?.length === 0;
  const { kubernetes: { version: wanted, upgraded } } = version;
  if (isProviders && wanted === "" && !upgraded && row.recorded === "") return [];
  const lines: Titled[] = [
    ["kubernetes", versionText(version, row)],
    ...(isProviders ? [["", providers] as Titled] : []),
    ...conditionLines(terminal, version),
    ["workers", workersText(row)],
    ...row.skew.map(({ severity, message }): Titled => {
      return ["skew", styled(terminal, severity === "Error" ? "red" : "yellow", printable(message, longest))];
    }),
    ...etcdLines(terminal, row),
    ...row.missing.map((each): Titled => ["unknown", styled(terminal, "yellow", `you are not allowed to ${each}`)]),
  ];
  return [...titledLines(terminal, lines), ...tableLines(terminal, version, { row, most })];
}

function versionText({ kubernetes: { version } }: VersionRow, { recorded }: KubernetesRow): string {
  const wanted = wantedText(version);
  if (recorded === undefined) return `${wanted}, and the version of the cluster is unknown`;
  if (recorded === "") return `${wanted}, and kubeadm recorded no version of the cluster`;
  return version === recorded
    ? `${wanted}, and kubeadm recorded it`
    : `${wanted}, kubeadm recorded ${printable(recorded, 60)}`;
}

function conditionLines(terminal: Terminal, { name, kubernetes: { upgraded } }: VersionRow): Titled[] {
  if (!upgraded || upgraded.status === "True") return [];
  const [reason, message] = [printable(upgraded.reason, 60), printable(upgraded.message, longest)];
  const known = upgradeReason(upgraded.reason);
  const isPersons = known !== undefined && known.todo !== "Nothing.";
  const command = calledAs(terminal);
  return [
    ["", styled(terminal, isPersons ? "yellow" : "cyan", `${reason}: ${message}`)],
    ...(reason === "AwaitingApproval" ? [["to do", `${command} plan nodeversion/${name}`, true] as Titled] : []),
    ...(isPersons ? [[reason === "AwaitingApproval" ? "" : "to do", `${command} explain ${reason}`] as Titled] : []),
  ];
}

function workersText({ workers, controlPlanes = [] }: KubernetesRow): string {
  if (workers === undefined) return "?";
  const { nodes, oldest, newest } = workers;
  if (nodes === 0) return "none";
  const count = counted(nodes, "node");
  if (oldest === "") return `${count}; at least one kubelet has an unknown version`;
  const versions = oldest === newest ? `kubelet ${oldest}` : `kubelets ${oldest} to ${newest}`;
  const behind = Math.max(0, ...controlPlanes.map(({ apiServer }) => minorsAbove(oldest, apiServer)));
  const isKnown = controlPlanes.some(({ apiServer }) => apiServer !== "");
  if (!isKnown) return `${count} with ${versions}`;
  const skew = behind === 0 ? "no minor version older" : `up to ${counted(behind, "minor version")} older`;
  return `${count} with ${versions}, ${skew} than the API servers`;
}

// The state of etcd as a Rollout reported it, because only Ostler's worker can query the members.

function etcdLines(terminal: Terminal, { etcd, controlPlanes }: KubernetesRow): Titled[] {
  if (!etcd) {
    return controlPlanes?.length === 0 ? [] : [["etcd", "unknown, because no group of control planes has reported it"]];
  }
  const { doubts } = etcd;
  const more = doubts.length - mostDoubts;
  return [
    ["etcd", quorumText(terminal, etcd, `, as sg/${etcd.group} reported`)],
    ...doubts.slice(0, mostDoubts).map((each): Titled => ["", styled(terminal, "yellow", printable(each, longest))]),
    ...(more > 0 ? [["", counted(more, "more finding")] as Titled] : []),
  ];
}

// The table of control planes.

function headsOf(isWide: boolean): string[] {
  return ["NODE", "KUBELET", "COMPONENTS", "ETCD", ...(isWide ? ["ETCD VERSION"] : []), "READY", "STATE"];
}

const roles: Record<MemberSeen["role"], string> = { Leader: "leader", Voter: "member", Learner: "learner" };
const states = {
  Halted: { text: "halted", style: "red" },
  BeingUpgraded: { text: "being upgraded", style: "cyan" },
  Newer: { text: "later version", style: "yellow" },
  Unknown: { text: "?", style: "yellow" },
  Waits: { text: "waits", style: "yellow" },
  UpToDate: { text: "up to date", style: "green" },
  NothingWanted: { text: "", style: "gray" },
} as const satisfies Record<PlaneState, { text: string; style: string }>;
const urgency = Object.keys(states) as PlaneState[];

function tableLines(
  terminal: Terminal,
  { name }: VersionRow,
  { row: { controlPlanes }, most }: { row: KubernetesRow; most: number },
): string[] {
  if (!controlPlanes || controlPlanes.length === 0) return [];
  const isWide = most === Infinity;
  const shown = controlPlanes.length <= most ? controlPlanes : controlPlanes.toSorted(byUrgency).slice(0, most);
  const more = controlPlanes.length - shown.length;
  return [
    "",
    ...plainTable(shown.map((each) => rowOf(terminal, each, isWide)), headsOf(isWide)).trimEnd().split("\n"),
    ...(more > 0
      ? [`${counted(more, "more control plane")}: ${calledAs(terminal)} status nodeversion/${name} -o wide`]
      : []),
  ];
}

/** Sorts control planes that are not Ready first, then by state; equal ones stay in the order of their names. */
function byUrgency(one: PlaneRow, other: PlaneRow): number {
  return Number(one.isReady) - Number(other.isReady) || urgency.indexOf(one.state) - urgency.indexOf(other.state);
}

function rowOf(terminal: Terminal, plane: PlaneRow, isWide: boolean): string[] {
  const { node, kubelet, components, etcd, isReady, state } = plane;
  const { text, style } = states[state];
  return [
    printable(node, 253),
    printable(kubelet, 40) || "?",
    printable(components, 60) || "?",
    memberText(terminal, etcd),
    ...(isWide ? [printable(etcd?.version ?? "", 40) || "?"] : []),
    isReady ? "yes" : styled(terminal, "red", "no"),
    styled(terminal, style, text),
  ];
}

function memberText(terminal: Terminal, member: MemberSeen | undefined): string {
  if (!member) return "?";
  const { role, healthy } = member;
  if (role === "Learner") return roles[role];
  return healthy ? roles[role] : styled(terminal, "red", `${roles[role]}, unhealthy`);
}
