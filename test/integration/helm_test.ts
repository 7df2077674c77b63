/** The life of a release: Helm installs, updates, rolls back and uninstalls the chart on a real API server. */
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import process from "node:process";
import { runHelm } from "../../deploy/release/chart/render_chart.ts";
import type { ApiConnection } from "../../deploy/local/stack/api_connection.ts";
import { applyObjects } from "../../deploy/local/stack/manifests.ts";
import type { ManifestObject } from "../../deploy/local/stack/resource_paths.ts";
import { definedVariables } from "../../deploy/local/tools/environment.ts";
import { resolveTools } from "../../deploy/local/tools/resolve_tools.ts";
import { runCommand } from "../../deploy/local/tools/run_command.ts";
import type { Deployment } from "../support/chart_objects.ts";
import { withApi } from "./bare_api.ts";

/** Returns the objects that are not being deleted, because CRDs and namespaces remain visible for a while. */
async function standing<T extends ManifestObject>(api: ApiConnection, path: string): Promise<T[]> {
  const { items } = await api.call({ method: "GET", path }) as { items: T[] };
  return items.filter(({ metadata }) => !("deletionTimestamp" in metadata));
}

/** Returns the image of each Deployment by name. */
async function imagesOf(api: ApiConnection): Promise<Record<string, string>> {
  const found = await standing<Deployment>(api, "/apis/apps/v1/namespaces/ostler-system/deployments");
  return Object.fromEntries(found.map(({ metadata, spec }) => [metadata.name, spec.template.spec.containers[0].image]));
}

/** Returns the names of CRDs and namespaces, which Helm keeps after an uninstallation. */
async function keptOf(api: ApiConnection): Promise<string[]> {
  const paths = ["/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "/api/v1/namespaces"];
  const found = await Promise.all(paths.map((path) => standing(api, path)));
  return found.flat().map(({ metadata }) => metadata.name);
}

/** KEDA's CRD, with the fields that Helm needs. */
const scaledObjects: ManifestObject = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "scaledobjects.keda.sh" },
  spec: {
    group: "keda.sh",
    scope: "Namespaced",
    names: { kind: "ScaledObject", plural: "scaledobjects" },
    versions: [{
      ...{ name: "v1alpha1", served: true, storage: true },
      schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
    }],
  },
} as ManifestObject;

Deno.test("helm: when KEDA is enabled in a release, scaling starts from the current number of workers", async () => {
  const { helm } = await resolveTools(["helm"]);
  await withApi(async ({ api, kubeconfig, directory }) => {
    await applyObjects(kubeconfig, [scaledObjects]);
    const reached = [`--kubeconfig=${kubeconfig}`];
    const env = { KUBECACHEDIR: directory };
    const path = "/apis/apps/v1/namespaces/ostler-system/deployments/ostler-worker";
    const replicas = async (): Promise<unknown> =>
      (await api.call({ method: "GET", path }) as Deployment).spec.replicas;
    await runHelm(["install", "ostler", "--create-namespace", ...reached], { helm, env, set: ["worker.replicas=3"] });
    const update = (set: string[]): Promise<string> =>
      runHelm(["upgrade", "ostler", ...reached], { helm, env, set: ["worker.autoscaling.enabled=true", ...set] });
    await update([]);
    equal(await replicas(), 3);
    const body = { spec: { replicas: 4 } };
    await api.call({ method: "PATCH", path, body, contentType: "application/merge-patch+json" });
    await update(["image.tag=2.0.0"]);
    equal(await replicas(), 4);
  });
});

Deno.test("helm: installs beside machine-controller, updates, rolls back, and keeps what machines need", async () => {
  const { helm } = await resolveTools(["helm"]);
  await withApi(async ({ api, kubeconfig, directory }) => {
    const machines = { apiVersion: "v1", kind: "Namespace", metadata: { name: "cloud-init-settings" } };
    await applyObjects(kubeconfig, [machines]);
    const reached = [`--kubeconfig=${kubeconfig}`];
    const env = { KUBECACHEDIR: directory };
    const install = ["install", "ostler", "--create-namespace", ...reached];
    await rejects(runHelm(install, { helm, env, set: ["image.tag=1.0.0"] }), /cloud-init-settings.*exists/);
    await runHelm([...install, "--take-ownership"], { helm, env, set: ["image.tag=1.0.0"] });
    deepEqual(await imagesOf(api), { "ostler-controller": "ostler:1.0.0", "ostler-worker": "ostler:1.0.0" });

    const set = ["image.tag=2.0.0", "worker.versionsBeside={1.0.0}"];
    await runHelm(["upgrade", "ostler", ...reached], { helm, env, set });
    deepEqual(await imagesOf(api), {
      ...{ "ostler-controller": "ostler:2.0.0", "ostler-worker": "ostler:2.0.0" },
      "ostler-worker-1.0.0": "ostler:1.0.0",
    });

    for (const command of [["rollback", "ostler", "1"], ["uninstall", "ostler"]]) {
      const before = await keptOf(api);
      const args = [...command, "--namespace=ostler-system", ...reached];
      const { code, lines } = await runCommand({
        program: helm,
        args,
        env: definedVariables({ ...process.env, ...env }),
      });
      equal(code, 0, lines.join("\n"));
      const workers = { "ostler-controller": "ostler:1.0.0", "ostler-worker": "ostler:1.0.0" };
      deepEqual(await imagesOf(api), command[0] === "rollback" ? workers : {});
      deepEqual(await keptOf(api), before);
      ok(before.includes("rollouts.ostler.dev") && before.includes("cloud-init-settings"));
    }
  });
});
