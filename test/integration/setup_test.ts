/** `ostler setup` checks the permissions of the processes on a real API server. */
import { deepEqual, match } from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { clusterOf } from "../../cli/connect/cluster.ts";
import { openKubeConfig } from "../../cli/connect/kube_config.ts";
import { checkRights } from "../../cli/setup/rights_step.ts";
import { applyManifests } from "../../deploy/local/stack/manifests.ts";
import { kubeconfigFor } from "../../deploy/local/stack/service_account_kubeconfig.ts";
import { processTerminal } from "../../cli/terminal.ts";
import { withApi } from "./bare_api.ts";

function filesOf(...files: string[]): string[] {
  return files.map((file) => fileURLToPath(new URL(`../../deploy/kubernetes/${file}`, import.meta.url)));
}

Deno.test("ostler setup: finds missing permissions of the processes, and none when Ostler's Roles are applied", async () => {
  await withApi(async ({ apiServer, kubeconfig, directory }) => {
    await applyManifests(kubeconfig, filesOf("namespace.yaml", "setup/rbac.yaml"));
    // Uses the identity of the setup Job, which has only the permission to ask about the permissions of others.
    const account = { namespace: "ostler-system", serviceAccount: "ostler-setup" };
    const own = await kubeconfigFor({ directory, apiServer, adminKubeconfig: kubeconfig }, account);
    const cluster = clusterOf(openKubeConfig(processTerminal(), { kubeconfig: own }));
    const check = (): ReturnType<typeof checkRights> =>
      checkRights(cluster, { system: "ostler-system", profiles: "kube-system" });
    const before = await check();
    deepEqual(before.map(({ outcome }) => outcome), ["Refused", "Refused", "Present"]);
    match(
      before[1]?.message ?? "",
      /^missing permissions: list machinedeployments\.cluster\.k8s\.io, .* and \d+ more; apply /,
    );
    await applyManifests(kubeconfig, filesOf("rbac/controller.yaml", "rbac/worker.yaml"));
    const granted = await check();
    deepEqual(granted.map(({ outcome }) => outcome), ["Present", "Present", "Present"]);
    match(granted[2]?.message ?? "", /^none, as expected without an installed webhook/);
    await applyManifests(kubeconfig, filesOf("webhook/rbac.yaml"));
    deepEqual((await check()).map(({ message }) => message), Array(3).fill("all permissions present"));
  });
});
