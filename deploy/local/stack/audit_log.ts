/** What booting machines ask of the API server, noted by itself: who, from where, what, and how it was answered. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Before they have certificates of their own, machines are one of these. */
const bootingMachines = ["system:serviceaccounts:cloud-init-settings", "system:bootstrappers"];

// Metadata leaves out what requests and answers hold: no secret gets into the log.
const policy = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  rules: [{ level: "Metadata", userGroups: bootingMachines }, { level: "None" }],
};

/** Path of the log: one JSON event of `audit.k8s.io/v1` a line. */
export function auditLogPath(directory: string): string {
  return join(directory, "logs", "audit.log");
}

/** Writes the policy; gives the flags of kube-apiserver that make it keep the log. */
export async function auditArgs(directory: string): Promise<string[]> {
  const policyPath = join(directory, "audit-policy.json");
  await mkdir(directory, { recursive: true });
  await writeFile(policyPath, JSON.stringify(policy));
  return [`--audit-policy-file=${policyPath}`, `--audit-log-path=${auditLogPath(directory)}`];
}
