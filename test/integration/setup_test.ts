/** `ostler setup` asks a real API server what the processes may do. */
import { deepEqual, match } from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { clusterOf } from "../../cli/connect/cluster.ts";
import { openKubeConfig } from "../../cli/connect/kube_config.ts";
import { checkRights } from "../../cli/setup/rights_step.ts";
import { applyManifests } from "../../deploy/local/stack/manifests.ts";
import { processTerminal } from "../../cli/terminal.ts";
import { withApi } from "./bare_api.ts";

const manifests = ["namespace.yaml", "rbac/controller.yaml", "rbac/worker.yaml"]
  .map((file) => fileURLToPath(new URL(`../../deploy/kubernetes/${file}`, import.meta.url)));

Deno.test("ostler setup finds what both processes lack, and nothing once our Roles are applied", async () => {
  await withApi(async ({ kubeconfig }) => {
    const cluster = clusterOf(openKubeConfig(processTerminal(), { kubeconfig }));
    const check = (): ReturnType<typeof checkRights> =>
      checkRights(cluster, { system: "ostler-system", profiles: "kube-system" });
    const before = await check();
    deepEqual(before.map(({ outcome }) => outcome), ["Refused", "Refused"]);
    match(before[1]?.message ?? "", /^it may not list machinedeployments\.cluster\.k8s\.io, .* and \d+ more; apply /);
    await applyManifests(kubeconfig, manifests);
    deepEqual((await check()).map(({ outcome }) => outcome), ["Present", "Present"]);
  });
});
