/** The CRD and docs/reference/policy.md agree with the schema. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { defaultRules } from "../../../../activities/policy/default_rules.ts";
import { millisecondsOf } from "../../../../activities/policy/duration.ts";
import { usualKey } from "../../../../activities/policy/etcd_of.ts";
import { usualProtection } from "../../../../activities/policy/protection_for.ts";
import { usualHandOver } from "../../../../activities/policy/hand_over_for.ts";
import { checkFields } from "../../../../activities/policy/gate_schema.ts";
import { RolloutPolicySpec } from "../../../../activities/policy/rollout_policy.ts";
import { rulesOf } from "../../../../activities/policy/rules_of.ts";
import { defaultInPlace } from "../../../../workflows/policy/in_place.ts";
import { fieldsOfOpenApi, fieldsOfZod } from "./schema_fields.ts";
import type { OpenApi } from "./schema_fields.ts";

const read = (path: string): string =>
  readFileSync(new URL(`../../../../deploy/kubernetes/${path}`, import.meta.url), "utf8");
const page = readFileSync(new URL("../../../../docs/reference/policy.md", import.meta.url), "utf8");
const fields = fieldsOfZod(RolloutPolicySpec);

interface Row {
  field: string;
  usual: string;
  example: string;
}

const rows: Row[] = page.split("\n").filter((line) => line.startsWith("| `")).map((line) => {
  const [field = "", usual = "", example = ""] = line.split(" | ").map((cell) => cell.replace(/^\| /, ""));
  return { field: bare(field), usual, example: bare(example) };
});

function bare(cell: string): string {
  return cell.replace(/^`|`$/g, "");
}

interface Definition {
  spec: { versions: { schema: { openAPIV3Schema: { properties: { spec: OpenApi } } } }[] };
}

Deno.test("rollout_policies.yaml: has the fields of the schema, with the same enumerations and required fields", () => {
  const [version] = (parse(read("crds/rollout_policies.yaml")) as Definition).spec.versions;
  assert.ok(version && Object.keys(fields).length > 60);
  assert.deepEqual(fieldsOfOpenApi(version.schema.openAPIV3Schema.properties.spec), fields);
});

/** These groups have no row of their own in the table; their fields have. */
const groups = ["budget", "join", "drain", "repair", "handOver", "inPlace", "etcd", "etcd.snapshot"];

Deno.test("docs/reference/policy.md: has a row for each field of the schema, and for no other", () => {
  const isTold = (field: string): boolean => !/selector\./.test(field) && !groups.includes(field);
  assert.deepEqual(rows.map(({ field }) => field).sort(), Object.keys(fields).filter(isTold).sort());
});

/** By the name of an object or a list: the fields that it, or each of its entries, requires. */
const around: Record<string, object> = {
  nodeCondition: { type: "Ready" },
  daemonSets: {},
  pods: { selector: { matchLabels: { app: "web" } } },
  prometheus: { url: "http://p", query: "up", operator: "<", threshold: 1, samples: "up" },
  job: { cronJob: "smoke" },
  waves: { upTo: 1 },
  windows: { cron: "0 2 * * *", duration: "1h" },
  conditions: { type: "Ready", status: "False" },
  tokenSecret: { name: "s" },
};

/** By field of etcd.snapshot: the other fields that etcd.snapshot requires when this field is set. */
const aroundSnapshot: Record<string, object> = {
  keep: { folder: "/f" },
  folder: { keep: "Folder" },
  url: { keep: "Url" },
  tokenSecret: { keep: "Url", url: "https://u" },
};

/** Returns a policy whose `field` has `value`, with the other fields that such a policy requires. */
function policyWith(field: string, value: unknown): unknown {
  const [name = "", ...rest] = field.split(".");
  const plain = name.replace("[]", "");
  const inner = rest.length === 0 ? value : { ...leastOf(plain, rest), ...policyWith(rest.join("."), value) as object };
  return { [plain]: name.endsWith("[]") ? [inner] : inner };
}

function leastOf(plain: string, [next = ""]: string[]): object {
  if (plain === "snapshot") return aroundSnapshot[next] ?? {};
  if (plain !== "gates") return around[plain] ?? {};
  const check = checkFields.find((kind) => kind === next) ?? "nodeCondition";
  return { name: "gate", [check]: around[check] };
}

for (const { field, example } of rows) {
  Deno.test(`docs/reference/policy.md: has a valid example of ${field}`, () => {
    const isPlain = !/^[[{"]/.test(example);
    const value = isPlain && /[*{]/.test(example) ? example : parse(example) as unknown;
    const policy = policyWith(field, value);
    assert.ok(JSON.stringify(policy).includes(JSON.stringify(value)));
    assert.deepEqual(RolloutPolicySpec.safeParse(policy).error?.issues ?? [], []);
  });
}

Deno.test("docs/reference/policy.md: has the actual defaults", () => {
  const told = rows.filter(({ field, usual }) => usual.startsWith("`") && !field.includes("[]"));
  assert.ok(told.length > 15);
  for (const { field, usual } of told) {
    const found = field.split(".").reduce<unknown>(
      (at, name) => (at as Record<string, unknown> | null)?.[name],
      withGrowth,
    );
    assert.deepEqual(valueOf(field, bare(usual)), found, field);
  }
});

/** The defaults of all fields; also those of the fields of growth, although growth itself is unset by default. */
const withGrowth = {
  ...defaultRules,
  budget: { ...defaultRules.budget, urgency: "Normal" },
  growth: rulesOf({ name: "p", namespace: "n", spec: { growth: {} } }, 0).growth,
  handOver: usualHandOver,
  inPlace: defaultInPlace,
  onImageChange: "Replace",
  etcd: { snapshot: { keep: "None", tokenSecret: { key: usualKey } } },
  protectedMachines: usualProtection,
};

function valueOf(field: string, text: string): unknown {
  if (field === "waves") return [{ upTo: "100%", soak: 0 }];
  if (field === "repair.maxUnhealthy") return Number.parseInt(text);
  const milliseconds = millisecondsOf(text);
  return Number.isNaN(milliseconds) ? parse(text) as unknown : milliseconds;
}

Deno.test("docs/reference/policy.md: ends with an example policy that has every section except growth, and the waves and gates that the page describes", () => {
  const [, text = ""] = /```yaml\n([\s\S]*?)```/.exec(page) ?? [];
  const { metadata, spec } = parse(text) as { metadata: { name: string; namespace: string }; spec: unknown };
  const policy = { ...metadata, spec: RolloutPolicySpec.parse(spec) };
  const sections = Object.keys(fields).filter((field) => !/[.[]/.test(field) && field !== "growth");
  assert.deepEqual(Object.keys(policy.spec).sort(), sections.sort());
  const rules = rulesOf(policy, Date.parse("2026-06-01T00:00:00Z"));
  assert.deepEqual(rules.waves.map(({ upTo, soak }) => [upTo, soak / 60_000]), [[1, 30], ["10%", 60], ["100%", 0]]);
  assert.equal(rules.gates.length, 2);
});
