/** The page of an upgrade of Kubernetes in the web UI: what it waits for, the control planes, and what to do. */
import type { ClusterObject, ControlPlaneState, UpgradeStanding, UpgradeSurvey } from "../contracts/mod.ts";
import { hasBegun } from "../kubernetes/next_upgrade_step.ts";
import { upgradeReason } from "../kubernetes/upgrade_reasons.ts";
import { code, fitting, plain, table } from "./page.ts";

type Present = Extract<UpgradeSurvey, { state: "Present" }>;

const rowsShown = 9;

/**
 * Renders the page, whose size is bounded whatever the size of the cluster; before the first survey it has only the
 * status.
 */
export function upgradeDetails(
  { name }: ClusterObject,
  { reason, message }: UpgradeStanding,
  survey: Present | null,
): string {
  const todo = upgradeReason(reason)?.todo ?? "Nothing.";
  return fitting([
    ...(message.length <= 100
      ? [`## ${plain(reason)}: ${plain(message)}`]
      : [`## ${plain(reason)}`, plain(message, 900)]),
    ...(survey ? [versionsText(name, survey), ...planes(survey), workersText(survey)] : []),
    ...(todo === "Nothing." ? [] : [`**What to do** ${plain(todo)}`]),
  ]);
}

function versionsText(name: string, { cluster, version, approved }: Present): string {
  const isDone = cluster === version;
  const from = isDone ? "" : `${code(cluster || "unknown", 40)} to `;
  const approval = approved === version ? "approved" : "not approved";
  return `**NodeVersion** ${code(name)}, Kubernetes ${from}${code(version, 40)}, ${approval}`;
}

function planes(survey: Present): string[] {
  const { controlPlanes } = survey;
  const done = controlPlanes.filter((each) => stateOf(survey, each) === "up to date").length;
  // Only a few rows fit, so control planes that are up to date come last.
  const sorted = controlPlanes.toSorted((one, other) => rankOf(survey, one) - rankOf(survey, other));
  const rows = sorted.slice(0, rowsShown).map((each) => [
    ...[code(each.node, 60), code(each.kubelet || "?", 20), code(each.components || "?", 20)],
    ...[each.isLeader ? "leader" : "", each.isReady ? "yes" : "**no**", stateOf(survey, each)],
  ]);
  const shown = table(["Control plane", "Kubelet", "Components", "etcd", "Ready", "State"], rows);
  const rest = controlPlanes.length - rowsShown;
  return [
    `**${done} of ${controlPlanes.length} control planes are up to date**`,
    ...(shown ? [shown] : []),
    ...(rest > 0 ? [`and ${rest} more`] : []),
  ];
}

function stateOf({ version }: Present, plane: ControlPlaneState): string {
  if (hasBegun(plane)) return "being upgraded";
  return plane.kubelet === version && plane.components === version ? "up to date" : "waits";
}

function rankOf(survey: Present, plane: ControlPlaneState): number {
  return ["being upgraded", "waits", "up to date"].indexOf(stateOf(survey, plane));
}

function workersText({ workers: { nodes, oldest, newest } }: Present): string {
  if (nodes === 0) return "**Workers** none";
  const versions = oldest === newest ? code(oldest || "?", 20) : `${code(oldest, 20)} to ${code(newest, 20)}`;
  return `**Workers** ${nodes} with kubelet ${versions}`;
}
