/** What booting machines, and others that are named, ask of the API server, noted by itself: who, from where, what, and how it was answered. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Before they have certificates of their own, machines are one of these. */
const bootingMachines = ["system:serviceaccounts:cloud-init-settings", "system:bootstrappers"];

/** Path of the log: one JSON event of `audit.k8s.io/v1` a line. */
export function auditLogPath(directory: string): string {
  return join(directory, "logs", "audit.log");
}

/** Writes the policy; gives the flags of kube-apiserver that make it keep the log, also of these users. */
export async function auditArgs(directory: string, users: readonly string[] = []): Promise<string[]> {
  const policyPath = join(directory, "audit-policy.json");
  await mkdir(directory, { recursive: true });
  await writeFile(policyPath, JSON.stringify(policyOf(users)));
  return [`--audit-policy-file=${policyPath}`, `--audit-log-path=${auditLogPath(directory)}`];
}

// Metadata leaves out what requests and answers hold: no secret gets into the log.
function policyOf(users: readonly string[]): object {
  const level = "Metadata";
  const named = users.length > 0 ? [{ level, users }] : [];
  return {
    ...{ apiVersion: "audit.k8s.io/v1", kind: "Policy", omitStages: ["RequestReceived"] },
    rules: [{ level, userGroups: bootingMachines }, ...named, { level: "None" }],
  };
}
