/** `ostler explain nodeversion/NAME`: the conditions of a NodeVersion, and the meaning of the reason of its upgrade. */
import { type UpgradeReason, upgradeReason } from "../../workflows/kubernetes/upgrade_reasons.ts";
import type { NamedCluster } from "../connect/cluster.ts";
import { printable } from "../view/printable.ts";
import { needVersion, type VersionRow } from "./node_versions.ts";

/** The facts about a NodeVersion, in one paragraph and as data. */
interface VersionText {
  nodeVersion: string;
  text: string;
  ready: VersionRow["ready"];
  kubernetes: VersionRow["kubernetes"];
  /** The meaning of the reason of condition KubernetesUpgraded; missing while the condition is True, or is not set. */
  explanation?: UpgradeReason;
}

/** Maximum characters of the text about a condition. */
const longest = 1_000;

/** Returns the state of a NodeVersion as a paragraph; throws Refusal with similar names if it does not exist. */
export async function explainVersion(cluster: NamedCluster, name: string): Promise<VersionText> {
  const { ready, kubernetes, image, imageVersion } = await needVersion(cluster, name, []);
  const { version, upgraded } = kubernetes;
  const explanation = upgraded && upgraded.status !== "True" ? upgradeReason(upgraded.reason) : undefined;
  const wanted = version === "" ? "no Kubernetes version" : `Kubernetes "${printable(version, 60)}"`;
  const text = [
    `NodeVersion "${name}" asks for image "${printable(imageVersion || image)}" and ${wanted}.`,
    ready.reason === "" ? "Ostler's worker has not evaluated the NodeVersion yet." : conditionText("Ready", ready),
    ...(upgraded ? [conditionText("KubernetesUpgraded", upgraded)] : []),
    ...(explanation ? [`That means: ${explanation.means} ${explanation.next} To do: ${explanation.todo}`] : []),
  ].join(" ");
  return { nodeVersion: name, text, ready, kubernetes, ...(explanation ? { explanation } : {}) };
}

function conditionText(type: string, { status, reason, message }: VersionRow["ready"]): string {
  const said = printable(`${type} is ${status} (${reason}): ${message}`, longest);
  return said.endsWith(".") ? said : `${said}.`;
}
