import { request } from "node:https";
import type { ApiAccess, SecretName } from "./fetch_secret.ts";

/** A boot report: the state of one step of a machine's boot, as the script `boot-report` of the profiles writes it. */
export interface BootReport {
  phase: "bootstrap" | "setup";
  step: string;
  state: "Running" | "Failed" | "Done";
  message: string;
}

/**
 * Sends a report, authenticated with the token in the user-data; does nothing if the profile has no ConfigMap for
 * reports. Never rejects, because a failed report must not fail the boot.
 */
export async function sendBootReport(
  { access, report, hostname }: { access: ApiAccess; report: SecretName | undefined; hostname: string },
  said: BootReport,
): Promise<void> {
  if (report === undefined) return;
  const url = new URL(`/api/v1/namespaces/${report.namespace}/configmaps/${report.name}`, access.server);
  const line = JSON.stringify({ ...said, at: new Date().toISOString() });
  await patch(url, access, JSON.stringify({ data: { [hostname]: line } }));
}

function patch(url: URL, { ca, token }: ApiAccess, body: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/merge-patch+json" };
  return new Promise((resolve) => {
    const call = request(url, { method: "PATCH", ca, headers, agent: false, timeout: 5000 }, (response) => {
      response.resume();
      response.on("close", resolve);
    });
    call.on("timeout", () => call.destroy());
    call.on("error", () => resolve());
    call.end(body);
  });
}
