/**
 * A real API server validates the objects of the chart strictly against their schemas, and the pods of the chart
 * against Pod Security.
 */
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { plainValues } from "../../deploy/release/chart/plain_manifests.ts";
import { type ApiConnection, ApiRefusal } from "../../deploy/local/stack/api_connection.ts";
import { applyObjects } from "../../deploy/local/stack/manifests.ts";
import { type ManifestObject, ResourcePaths } from "../../deploy/local/stack/resource_paths.ts";
import { resolveTools } from "../../deploy/local/tools/resolve_tools.ts";
import { chartObjects, deploymentsOf, everything, type Pod, setupJobIn, sizes } from "../support/chart_objects.ts";
import { withApi } from "./bare_api.ts";

/** Kinds whose CRDs other projects install. */
const foreign = /^(cert-manager\.io|keda\.sh|monitoring\.coreos\.com)\//;

async function allObjects(): Promise<ManifestObject[]> {
  const { helm } = await resolveTools(["helm"]);
  const values = [[], ...sizes.map((size) => [size]), [everything]];
  const rendered = await Promise.all(values.map((files) => chartObjects({ helm, values: files, set: plainValues })));
  const split = [
    ["north-system", "workerCluster.kubeconfigSecret.name=north", "settings.namespace=north", "webhook.enabled=true"],
    ["ostler-system", "workerCluster.render=true", "settings.worker-webhook-endpoint=https://hook:8443"],
  ].map(([namespace = "", ...set]) => chartObjects({ helm, namespace, set }));
  rendered.unshift(...await Promise.all(split));
  return [...new Map(rendered.flat().map((object) => [JSON.stringify(object), object])).values()];
}

/**
 * Returns the namespaces of the objects, including those of other projects, which must exist before the chart is
 * installed.
 */
function namespacesOf(objects: readonly ManifestObject[]): ManifestObject[] {
  const names = new Set(objects.flatMap(({ metadata: { namespace } }) => namespace ?? []));
  return [...names].map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } }));
}

async function refusalOf(api: ApiConnection, path: string, object: unknown): Promise<string | undefined> {
  const query = "fieldManager=chart-test&force=true&dryRun=All&fieldValidation=Strict";
  const call = { method: "PATCH", path: `${path}?${query}`, body: object } as const;
  try {
    return void await api.call({ ...call, contentType: "application/apply-patch+yaml" });
  } catch (error) {
    if (error instanceof ApiRefusal) return error.message;
    throw error;
  }
}

function createPod(api: ApiConnection, name: string, { metadata, spec }: Pod): Promise<unknown> {
  const body = { apiVersion: "v1", kind: "Pod", metadata: { ...metadata, name }, spec };
  return api.call({ method: "POST", path: "/api/v1/namespaces/ostler-system/pods?dryRun=All", body });
}

Deno.test("chart: the API server accepts every object, at every size and with everything enabled", async () => {
  const objects = await allObjects();
  const kinds = new Set(objects.filter(({ apiVersion }) => foreign.test(apiVersion)).map(({ kind }) => kind));
  deepEqual([...kinds].sort(), ["Certificate", "Issuer", "PrometheusRule", "ScaledObject", "ServiceMonitor"]);
  const ours = objects.filter(({ apiVersion }) => !foreign.test(apiVersion));
  ok(ours.length > 60);
  await withApi(async ({ api, kubeconfig }) => {
    await applyObjects(kubeconfig, namespacesOf(ours));
    const before = ours.filter(({ kind }) => kind === "Namespace" || kind === "CustomResourceDefinition");
    await applyObjects(kubeconfig, before);
    const paths = new ResourcePaths(api);
    const refused: string[] = [];
    for (const object of ours) refused.push(await refusalOf(api, await paths.pathOf(object), object) ?? "");
    deepEqual(refused.filter(Boolean), []);

    await applyObjects(kubeconfig, ours.filter(({ kind }) => kind === "ServiceAccount"));
    const running = { ...deploymentsOf(ours), setup: setupJobIn(ours) };
    const pods = Object.entries(running).flatMap(([name, one]) => one ? [[name, one.spec.template] as const] : []);
    equal(pods.length, 6);
    for (const [name, pod] of pods) await createPod(api, name, pod);
    const [[, pod] = []] = pods;
    ok(pod);
    const privileged = { ...pod, spec: { ...pod.spec, hostNetwork: true } };
    await rejects(createPod(api, "privileged", privileged), /violates PodSecurity "restricted/);
    const misspelt = { ...ours.find(({ kind }) => kind === "Deployment"), spec: { replica: 1 } };
    const path = "/apis/apps/v1/namespaces/ostler-system/deployments/ostler-worker";
    ok((await refusalOf(api, path, misspelt))?.includes("replica"), "Expected the unknown field to be refused");
  });
});

Deno.test("chart: installs the objects of hands (pods that work on nodes) only if hands-image is set, and only for the release's worker", async () => {
  const { helm } = await resolveTools(["helm"]);
  const image = `registry.example/hands@sha256:${"c".repeat(64)}`;
  const ofHands = async (...set: string[]): Promise<ManifestObject[]> =>
    (await chartObjects({ helm, namespace: "fleet-system", set })).filter(({ metadata: { name, namespace } }) =>
      namespace === "ostler-hands" || /hands/.test(name)
    );
  deepEqual(await ofHands(), []);
  const hands = await ofHands(`settings.hands-image=${image}`);
  equal(hands.length, 12);
  const named = hands.find(({ metadata }) => metadata.name === "ostler-hands-image") as { data?: object } | undefined;
  deepEqual(named?.data, { image, downloads: "" });
  const text = JSON.stringify(hands);
  ok(text.includes("system:serviceaccount:fleet-system:ostler-worker") && !text.includes("ostler-system"));
});
