import { request } from "node:https";
import type { ApiAccess, SecretName } from "./fetch_secret.ts";

/** What a machine's own scripts say of their boot (the line that `boot-report` writes). */
export interface BootReport {
  phase: "bootstrap" | "setup";
  step: string;
  state: "Running" | "Failed" | "Done";
  message: string;
}

/** Writes the machine's line with the token of its user-data; resolves whatever comes of it, as no boot depends on it. */
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
