/** The CRDs of `update.edgeless.systems`: manifests and code agree, and existing objects stay valid. */
import { deepEqual, equal, fail, match, ok } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { parse, parseAllDocuments } from "yaml";
import type { z } from "zod";
import type { ClusterResource } from "../../../activities/kube/resources.ts";
import * as kinds from "../../../activities/kube/update_kinds.ts";
import { type CrdSchema, faultsBy } from "../../support/crd_schema.ts";
import { updateSamples } from "../../support/update_samples.ts";
import { fieldsOfOpenApi, fieldsOfZod, type OpenApi } from "../activities/policy/schema_fields.ts";

interface Definition {
  metadata: { annotations: Record<string, string> };
  spec: {
    group: string;
    scope: string;
    names: { kind: string; plural: string; shortNames?: string[] };
    versions: {
      name: string;
      schema: { openAPIV3Schema: CrdSchema };
      additionalPrinterColumns: { name: string; type: string; jsonPath: string; priority?: number }[];
    }[];
  };
}

interface Kind {
  kind: string;
  resource: ClusterResource<unknown>;
  text: string;
  definition: Definition;
  version: Definition["spec"]["versions"][0];
  schema: CrdSchema;
}

const read = (path: string): string => readFileSync(new URL(`../../../deploy/${path}`, import.meta.url), "utf8");

function kindOf(kind: string, file: string, resource: ClusterResource<unknown>): Kind {
  const text = read(`kubernetes/crds/${file}.yaml`);
  const definition = parse(text) as Definition;
  const [version] = definition.spec.versions;
  ok(version);
  return { kind, resource, text, definition, version, schema: version.schema.openAPIV3Schema };
}

const all: Kind[] = [
  kindOf("NodeVersion", "node_versions", kinds.nodeVersions),
  kindOf("ScalingGroup", "scaling_groups", kinds.scalingGroups),
  kindOf("PendingNode", "pending_nodes", kinds.pendingNodes),
  kindOf("JoiningNode", "joining_nodes", kinds.joiningNodes),
  kindOf("AutoscalingStrategy", "autoscaling_strategies", kinds.autoscalingStrategies),
];

const kindNamed = (name: string): Kind => all.find(({ kind }) => kind === name) ?? fail(name);

/** Returns an object as the API server stores it. */
function asStored<T extends { metadata: object }>(object: T): T {
  const metadata = { uid: "u", generation: 1, resourceVersion: "1", creationTimestamp: "2026-01-01T00:00:00Z" };
  return { ...object, metadata: { ...metadata, ...object.metadata } };
}

for (const { kind, resource, definition: { metadata, spec }, schema, text } of all) {
  Deno.test(`${kind}: is served with the group, version and plural that Ostler reads, and kept when a Helm release is uninstalled`, () => {
    const [version] = spec.versions;
    deepEqual([spec.group, version?.name, spec.names.plural], [resource.group, resource.version, resource.plural]);
    deepEqual([spec.names.kind, spec.scope], [kind, "Cluster"]);
    equal(metadata.annotations["helm.sh/resource-policy"], "keep");
  });

  Deno.test(`${kind}: defines every field that Ostler reads, with the same enum values`, () => {
    const defined = fieldsOfOpenApi(schema as OpenApi);
    const isOfObject = (field: string): boolean => !/^metadata\b/.test(field);
    const wanted = Object.entries(fieldsOfZod(resource.schema as z.ZodType)).filter(([field]) => isOfObject(field));
    ok(wanted.length > 4);
    for (const [field, told] of wanted) {
      const [, ...values] = told.split(" ");
      const [, ...known] = defined[field]?.split(" ") ?? fail(`${field} is dropped`);
      if (values.length > 0) deepEqual(known, values, field);
    }
    const spec = Object.keys(defined).filter((field) => field.startsWith("spec."));
    deepEqual(spec.filter((field) => !wanted.some(([name]) => name === field)), []);
  });

  Deno.test(`${kind}: has printer columns of existing fields, with the type of the field`, () => {
    const columns = spec.versions[0]?.additionalPrinterColumns ?? [];
    equal(new Set(columns.map(({ name }) => name)).size, columns.length);
    ok(
      columns.filter(({ priority = 0 }) => priority === 0).length <= 9,
      "Expected at most nine columns, which fit into a line",
    );
    deepEqual(columns.at(-1), { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" });
    for (const { jsonPath, type } of columns.slice(0, -1)) equal(fieldAt(schema, jsonPath)?.type, type, jsonPath);
  });

  Deno.test(`${kind}: has conditions and observedGeneration, and requires no status field`, () => {
    const { status } = schema.properties ?? {};
    equal(status?.properties?.["observedGeneration"]?.type, "integer");
    const conditions = status?.properties?.["conditions"]?.items;
    deepEqual(Object.keys(conditions?.properties ?? {}).sort(), [
      ...["lastTransitionTime", "message", "observedGeneration", "reason", "status", "type"],
    ]);
    equal(status?.required, undefined);
    const ours = { observedGeneration: 2, conditions: [{ ...condition, observedGeneration: 2 }] };
    deepEqual(faultsBy(status ?? {}, ours), []);
  });

  Deno.test(`${kind}: requires no additional field, so that existing objects stay valid`, () => {
    ok(!text.includes("x-kubernetes-validations"), "Expected no validation rules, which would refuse existing objects");
    const required = kind === "AutoscalingStrategy" ? ["enabled", "deploymentName", "deploymentNamespace"] : undefined;
    deepEqual(schema.properties?.["spec"]?.required, required);
    equal(schema.required, undefined);
    deepEqual(faultsBy(schema, { apiVersion: "", kind, metadata: {} }), []);
  });
}

const condition = {
  ...{ type: "Ready", status: "False", reason: "GroupMissing", message: "Cannot find group" },
  lastTransitionTime: "2026-01-01T00:00:00.000Z",
};

/** Returns the schema of the field that a column shows. */
function fieldAt(schema: CrdSchema, jsonPath: string): CrdSchema | undefined {
  const steps = jsonPath.replace(/\[\?\(@\.type=="\w+"\)\]/, ".[]").split(".").slice(1);
  return steps.reduce<CrdSchema | undefined>(
    (inner, step) => step === "[]" ? inner?.items : inner?.properties?.[step],
    schema,
  );
}

for (const [at, sample] of updateSamples().entries()) {
  const { kind, metadata: { name } } = sample;
  Deno.test(`${kind}: accepts sample ${at + 1}, ${name}, without losing a field`, () => {
    deepEqual(faultsBy(kindNamed(kind).schema, sample), []);
  });

  Deno.test(`${kind}: reads sample ${at + 1}, ${name}, unchanged`, () => {
    const parsed = kindNamed(kind).resource.schema.parse(asStored(sample)) as { spec: Record<string, unknown> };
    for (const [field, value] of Object.entries(sample.spec)) {
      const expected = field === "deadline" ? new Date(String(value)).toISOString() : value;
      deepEqual(parsed.spec[field], expected, field);
    }
  });
}

Deno.test("samples: have every kind, every field of its spec, and every field of its status except those that Ostler added to the CRD", () => {
  const told = (kind: string, part: "spec" | "status"): string[] => {
    const objects = updateSamples().filter((sample) => sample.kind === kind);
    return [...new Set(objects.flatMap((sample) => Object.keys(sample[part] ?? {})))].sort();
  };
  const ours = ["observedGeneration", "released", "certificates", "cancelledUpgrade", "cancelledRenewal"];
  for (const { kind, schema } of all) {
    const of = (part: string): string[] => Object.keys(schema.properties?.[part]?.properties ?? {}).sort();
    deepEqual(told(kind, "spec"), of("spec"), kind);
    const added = kind === "NodeVersion" || kind === "ScalingGroup" ? ours : [...ours, "conditions"];
    deepEqual(told(kind, "status"), of("status").filter((field) => !added.includes(field)), kind);
  }
});

const refused: [kind: string, part: object, why: RegExp][] = [
  ["ScalingGroup", { spec: { role: "worker" } }, /^spec\.role is none of Worker, ControlPlane$/],
  ["ScalingGroup", { spec: { max: "10" } }, /^spec\.max is string, not integer$/],
  ["ScalingGroup", { spec: { nodeimage: "x" } }, /^spec\.nodeimage is dropped$/],
  ["PendingNode", { spec: { goal: "Stay" } }, /^spec\.goal is none of Join, Leave$/],
  ["PendingNode", { status: { cspState: "Running" } }, /^status\.cspState is none of Unknown, /],
  ["JoiningNode", { spec: { deadline: "tomorrow" } }, /^spec\.deadline is not a time$/],
  ["AutoscalingStrategy", { spec: { enabled: true, deploymentName: "a" } }, /^spec lacks deploymentNamespace$/],
  ["NodeVersion", { status: { released: { stage: "Workers" } } }, /^status\.released lacks digest$/],
  ["NodeVersion", { status: { conditions: [{ ...condition, reason: "" }] } }, /^status\.conditions\[0\]\.reason /],
];

for (const [at, [kind, part, why]] of refused.entries()) {
  Deno.test(`${kind}: refuses an invalid value and drops an unknown field, case ${at + 1}: ${JSON.stringify(part)}`, () => {
    match(faultsBy(kindNamed(kind).schema, part)[0] ?? "", why);
  });
}

/** Short names of Kubernetes itself, and of CRDs that are often installed too. */
const usual = (
  "cj cm cs csr crd deploy ds ep ev hpa ing limits netpol no ns pc pdb po psp pv pvc quota rc rs sa sc sts svc vac " +
  "cert certs cr crs issuer md ma ms mhc mcp nm np sg nv cl kcp app appset vs gw gtw pr tr vpa sm pmon"
).split(" ");

Deno.test("short names: do not collide with short names of Kubernetes and of other CRDs", () => {
  const manifests = ["machine_controller_crds", "kubevirt_crds"].map((name) => `local/manifests/${name}.yaml`);
  const crds = ["operating_system_profiles", "operating_system_configs", "rollouts", "rollout_policies", "node_pools"];
  const beside = [...manifests, ...crds.map((name) => `kubernetes/crds/${name}.yaml`)].flatMap((path) =>
    parseAllDocuments(read(path)).flatMap((document) => (document.toJS() as Definition).spec.names.shortNames ?? [])
  );
  const ours = all.flatMap(({ definition }) => definition.spec.names.shortNames ?? []);
  equal(new Set(ours).size, all.length);
  deepEqual(ours.filter((name) => [...usual, ...beside].includes(name)), []);
});
