/** Ostler's CRDs replace those of the Constellation node operator: a real API server leaves every object unchanged. */
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { openCluster } from "../../activities/cluster.ts";
import { connectKube, loadKubeConfig } from "../../activities/kube/client.ts";
import { nodeVersions } from "../../activities/kube/update_kinds.ts";
import { readClusterObject } from "../../activities/kube/resources.ts";
import { showCertificates } from "../../activities/node_version/certificates.ts";
import type { GroupNode } from "../../activities/node_version/group_nodes.ts";
import { recordsIn } from "../../activities/status/certificate_record.ts";
import { readServed } from "../../activities/x509/served_certificate.ts";
import { waitUntil } from "../../deploy/local/process/wait_until.ts";
import type { ApiConnection } from "../../deploy/local/stack/api_connection.ts";
import { applyObjects, parseManifests } from "../../deploy/local/stack/manifests.ts";
import type { ManifestObject } from "../../deploy/local/stack/resource_paths.ts";
import { inActivity } from "../support/activity_context.ts";
import { type UpdateSample, updateSamples } from "../support/update_samples.ts";
import { withApi } from "./bare_api.ts";

interface Definition extends ManifestObject {
  spec: {
    names: { kind: string; plural: string };
    versions: { schema: { openAPIV3Schema: { properties: { status: { required?: string[] } } } } }[];
  };
}

const files = ["node_versions", "scaling_groups", "pending_nodes", "joining_nodes", "autoscaling_strategies"];

const definitions: Definition[] = files.flatMap((file) => {
  const path = new URL(`../../deploy/kubernetes/crds/${file}.yaml`, import.meta.url);
  return parseManifests(readFileSync(path, "utf8"), file) as Definition[];
});

/** The fields of a status that the operator requires, because it writes the whole status. */
const required: Record<string, string[]> = {
  NodeVersion: ["activeclusterversionupgrade", "budget", "conditions"],
  ScalingGroup: ["conditions"],
};

/**
 * Returns a CRD as the operator installs it: without columns and short names, and with required status fields, because
 * only the operator writes the status.
 */
function formerOf(definition: Definition): Definition {
  const former = structuredClone(definition);
  const [version] = former.spec.versions;
  const wanted = required[former.spec.names.kind];
  if (version && wanted) version.schema.openAPIV3Schema.properties.status.required = wanted;
  Object.assign(former.spec.names, { shortNames: [] });
  Object.assign(version ?? {}, { additionalPrinterColumns: [] });
  return former;
}

function pathOf({ kind, metadata }: ManifestObject, name = `/${metadata.name}`): string {
  const plural = definitions.find(({ spec }) => spec.names.kind === kind)?.spec.names.plural;
  return `/apis/update.edgeless.systems/v1alpha1/${plural}${name}`;
}

/** Writes an object as `kubectl apply` does, which refuses unknown fields, and then the operator's status. */
async function store(api: ApiConnection, { status, ...sample }: UpdateSample): Promise<void> {
  await api.call({ method: "POST", path: `${pathOf(sample, "")}?fieldValidation=Strict`, body: sample });
  if (status) await writeStatus(api, sample, status);
}

async function writeStatus(api: ApiConnection, object: ManifestObject, status: object): Promise<void> {
  const contentType = "application/merge-patch+json";
  const path = `${pathOf(object)}/status?fieldValidation=Strict`;
  await api.call({ method: "PATCH", path, body: { status }, contentType });
}

async function staysAsItStood(api: ApiConnection, sample: UpdateSample): Promise<void> {
  const { spec, status = {} } = await api.call({ method: "GET", path: pathOf(sample) }) as UpdateSample;
  deepEqual({ spec, status }, { spec: sample.spec, status: sample.status ?? {} }, sample.metadata.name);
}

const condition = { type: "Ready", status: "True", reason: "AllNodesCurrent", message: "" };
const ours = {
  observedGeneration: 1,
  conditions: [{ ...condition, observedGeneration: 1, lastTransitionTime: "2026-01-01T12:00:00.000Z" }],
};

Deno.test("CRDs of the Constellation node operator: its objects and statuses are valid after an update to Ostler's CRDs", async (t) => {
  const samples = updateSamples();
  await withApi(async ({ api, kubeconfig }) => {
    await applyObjects(kubeconfig, definitions.map(formerOf));
    for (const sample of samples) await store(api, sample);
    const [first] = samples;
    ok(first);
    const bare = samples.find(({ kind, status }) => kind === first.kind && !status);
    ok(bare);
    const released = { stage: "Workers", digest: "d" };
    await rejects(writeStatus(api, bare, { ...ours, released }), /status\.budget: Required value/);
    await applyObjects(kubeconfig, definitions);
    // The API server uses a changed CRD a moment later: until then it refuses the status, because required fields are
    // missing.
    await t.step("a status with only Ostler's fields is accepted", async () => {
      const write = (): Promise<void> => writeStatus(api, bare, { ...ours, released });
      await waitUntil(write, { what: "our status", timeoutMs: 20_000 });
    });
    for (const sample of samples.filter((sample) => sample !== bare)) {
      await t.step(`${sample.kind} ${sample.metadata.name} is unchanged`, () => staysAsItStood(api, sample));
      await t.step(
        `${sample.kind} ${sample.metadata.name} accepts Ostler's status, and then the operator's status again`,
        async () => {
          await writeStatus(api, sample, ours);
          await writeStatus(api, sample, sample.status ?? {});
        },
      );
    }
    await t.step("a misspelled field is still refused after the update", async () => {
      const { apiVersion, kind } = first;
      const misspelt = { apiVersion, kind, metadata: { name: "misspelt" }, spec: { imageversion: "x" } };
      await rejects(store(api, misspelt), /imageversion/);
    });
  });
});

Deno.test("CRD of a NodeVersion: accepts the certificates of a real API server in the status, with a condition and an Event, and the removal of certificates and condition", async () => {
  await withApi(async ({ api, kubeconfig, apiServer }) => {
    await applyObjects(kubeconfig, definitions);
    const version = { apiVersion: "update.edgeless.systems/v1alpha1", kind: "NodeVersion", metadata: { name: "v" } };
    const write = (): Promise<void> => store(api, { ...version, spec: {} });
    await waitUntil(write, { what: "the NodeVersion", timeoutMs: 20_000 });
    // The kubelet's port is replaced by port 1, where no server listens; all other ports by the port of the API server.
    const cluster = openCluster(connectKube(loadKubeConfig(kubeconfig)), {
      readServed: ({ port }) => readServed({ host: "127.0.0.1", port: port === 10250 ? 1 : apiServer.port }),
    });
    const plane = { name: "cp-1", addresses: ["192.0.2.1"], createdAt: 0 } as GroupNode;
    const show = async (controlPlanes: GroupNode[]): Promise<Record<string, unknown>> => {
      const before = await readClusterObject(cluster, nodeVersions, "v");
      await inActivity(() => showCertificates(cluster, before, { controlPlanes, now: Date.now() }));
      return (await readClusterObject(cluster, nodeVersions, "v")).status ?? {};
    };
    const records = recordsIn(await show([plane]));
    deepEqual(records.map(({ component }) => component), ["Kubelet", "Etcd", "APIServer"]);
    equal(records[0]?.unknown, "the TLS handshake failed (ECONNREFUSED)");
    ok(records.slice(1).every(({ expiresAt = "" }) => Date.parse(expiresAt) > Date.now() + 300 * 86_400_000));
    const events = await api.call({ method: "GET", path: "/api/v1/namespaces/default/events" }) as {
      items: { reason: string; involvedObject: { kind: string; name: string } }[];
    };
    const told = events.items.filter(({ involvedObject }) => involvedObject.kind === "NodeVersion");
    deepEqual(told.map(({ reason }) => reason), ["CertificateUnknown"]);
    const { certificates, conditions } = await show([]);
    deepEqual([certificates, conditions], [undefined, []]);
  });
});
