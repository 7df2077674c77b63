import assert from "node:assert/strict";
import { parameterValues } from "../../../profiles/parameter_values.ts";
import {
  closeTemplateEngines,
  type OsProfile,
  parseProfile,
  ProfileRefused,
  renderConfig,
} from "../../../profiles/mod.ts";
import { renderFacts } from "../../support/render_facts.ts";

const base = {
  osName: "ubuntu",
  osVersion: "24.04",
  version: "v1.0.0",
  templating: "eta",
  supportedCloudProviders: [{ name: "kubevirt" }],
  bootstrapConfig: {},
  provisioningConfig: {},
};

function profileWith(parameters: Record<string, object>, phase: object = {}): OsProfile {
  const described = Object.entries(parameters).map(([name, rules]) => [name, { description: "", ...rules }]);
  return parseProfile({ ...base, parameters: Object.fromEntries(described), provisioningConfig: phase });
}

function refusal(work: () => unknown): ProfileRefused {
  try {
    work();
  } catch (error) {
    assert.ok(error instanceof ProfileRefused, String(error));
    return error;
  }
  assert.fail("Expected a refusal");
}

function annotated(values: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [`parameter.ostler.dev/${name}`, value]));
}

Deno.test("parameterValues: reads a parameter of each type from its annotation", () => {
  const profile = profileWith({ a: {}, b: { type: "integer" }, c: { type: "boolean" }, d: { type: "list" } });
  const annotations = { ...annotated({ a: "x, y", b: "-12", c: "false", d: "one, two,,three" }), other: "ignored" };
  assert.deepEqual(parameterValues(profile, annotations), {
    a: "x, y",
    b: -12,
    c: false,
    d: ["one", "two", "three"],
  });
});

Deno.test("parameterValues: uses defaults, and an annotation with an empty text counts as set", () => {
  const profile = profileWith({
    a: { default: "x" },
    b: { type: "integer", default: 3 },
    c: { type: "boolean", default: true },
    d: { type: "list", default: ["p"] },
  });
  assert.deepEqual(parameterValues(profile, {}), { a: "x", b: 3, c: true, d: ["p"] });
  assert.deepEqual(parameterValues(profile, annotated({ a: "", d: "" })), { a: "", b: 3, c: true, d: [] });
  assert.deepEqual(parameterValues(parseProfile(base), { other: "x" }), {});
});

Deno.test("parameterValues: refuses an unknown parameter and names the known ones", () => {
  const profile = profileWith({ mtu: { type: "integer", default: 1500 }, region: { default: "" } });
  const { reason, message } = refusal(() => parameterValues(profile, annotated({ mut: "9000" })));
  assert.equal(reason, "ParameterInvalid");
  assert.equal(
    message,
    `Invalid annotation "parameter.ostler.dev/mut": the profile has no such parameter; its parameters are: mtu, region`,
  );
  const constructor = refusal(() => parameterValues(profile, annotated({ constructor: "x" })));
  assert.match(constructor.message, /no such parameter/);
});

Deno.test("parameterValues: refuses a parameter that is neither set nor has a default", () => {
  const { reason, message } = refusal(() => parameterValues(profileWith({ mtu: { type: "integer" } }), {}));
  assert.equal(reason, "ParameterInvalid");
  assert.equal(
    message,
    `Missing annotation "parameter.ostler.dev/mtu": its parameter has no default; set the annotation to a whole number`,
  );
});

Deno.test("parameterValues: refuses invalid values, and describes the valid ones", () => {
  const cases: [object, string, string][] = [
    [{ type: "integer" }, "1.5", "a whole number"],
    [{ type: "integer" }, "99999999999999999", "a whole number"],
    [{ type: "integer", pattern: "[0-9]{4}" }, "150", "a whole number, text matching [0-9]{4}"],
    [{ type: "boolean" }, "yes", "true or false"],
    [{ enum: ["debug", "info"] }, "loud", "one of debug, info"],
    [{ type: "list", enum: ["a", "b"] }, "a,c", "a comma-separated list of one of a, b"],
    [{ pattern: "[a-z]+" }, "abc1", "text matching [a-z]+"],
    [{ pattern: "a|b" }, "ax", "text matching a|b"],
  ];
  for (const [rules, value, wanted] of cases) {
    const { reason, message } = refusal(() => parameterValues(profileWith({ x: rules }), annotated({ x: value })));
    assert.equal(reason, "ParameterInvalid");
    const says = `Invalid annotation "parameter.ostler.dev/x": value "${value}" must be ${wanted}`;
    assert.equal(message, says);
  }
});

Deno.test("parameterValues: refuses characters that could end a quoted word, unless a pattern allows them", () => {
  const bad = ['a"b', "a'b", "a\\b", "a\nb", "$(reboot)", "`reboot`", "\u0000", "a\u2028b", "\u202e"];
  for (const type of ["string", "list"]) {
    const profile = profileWith({ x: { type } });
    for (const value of bad) {
      const { message } = refusal(() => parameterValues(profile, annotated({ x: value })));
      assert.match(message, /must be .*printable text without quotes/);
      assert.equal(message.includes("\n"), false, "Expected a message of one line, whatever the value");
    }
  }
  assert.deepEqual(parameterValues(profileWith({ x: {} }), annotated({ x: "Grüße, #1 & <2>" })), {
    x: "Grüße, #1 & <2>",
  });
  assert.deepEqual(parameterValues(profileWith({ x: { pattern: ".*" } }), annotated({ x: "$HOME" })), { x: "$HOME" });
});

Deno.test("parameterValues: stops matching a pattern that backtracks without end, and shortens the long value in the error message", () => {
  const profile = profileWith({ x: { pattern: "(a+)+" } });
  const { message } = refusal(() => parameterValues(profile, annotated({ x: `${"a".repeat(5000)}!` })));
  assert.match(message, /must be text matching \(a\+\)\+$/);
  assert.ok(message.length < 300, message);
});

Deno.test("parseProfile: refuses parameters with an invalid name, type, pattern or default", () => {
  const cases: [object, string][] = [
    [{ "Log-Level": {} }, "parameters.Log-Level: must be a name in camel case"],
    [{ x: { type: "integer", default: "3" } }, "parameters.x.default: must be a whole number"],
    [{ x: { enum: ["a"], default: "b" } }, "parameters.x.default: must be one of a"],
    [{ x: { pattern: "(" } }, "parameters.x.pattern: must be a regular expression"],
    [{ x: { default: "$(reboot)" } }, "parameters.x.default: must be printable text"],
    [{ x: { type: "duration" } }, "parameters.x.type: "],
  ];
  for (const [parameters, says] of cases) {
    const { reason, message } = refusal(() => profileWith(parameters as Record<string, object>));
    assert.equal(reason, "ProfileInvalid");
    assert.ok(message.includes(says), message);
  }
});

Deno.test("renderConfig: gives parameters and packages to Eta templates", async () => {
  const data = `<%= it.parameters.mtu + 1 %> <%= it.parameters.zones.join("+") %> <%= it.packages.join(" ") %>`;
  const files = [{ path: "/etc/x", content: { inline: { data } } }];
  const rules = { mtu: { type: "integer", default: 1500 }, zones: { type: "list" } };
  const profile = profileWith(rules, { files, packages: ["auditd", "jq"] });
  const facts = renderFacts({ deployment: { annotations: annotated({ zones: "a,b" }) } });
  try {
    const { provisioningConfig } = await renderConfig(profile, facts);
    assert.equal(provisioningConfig.files[0]?.content.inline.data, "1501 a+b auditd jq");
    assert.equal("packages" in provisioningConfig, false, "Expected the profile to install packages by itself");
  } finally {
    await closeTemplateEngines();
  }
});

Deno.test("renderConfig: gives parameters to Go templates too, and leaves packages to cloud-init in the first phase", async () => {
  const data =
    "{{ .Parameters.mtu }} {{ range .Parameters.zones }}[{{ . }}]{{ end }} {{ if .Parameters.wanted }}yes{{ end }}";
  const go = parseProfile({
    ...base,
    templating: "go",
    parameters: {
      mtu: { type: "integer", default: 1_000_000, description: "" },
      zones: { type: "list", description: "" },
      wanted: { type: "boolean", default: true, description: "" },
    },
    bootstrapConfig: { packages: ["auditd"], files: [{ path: "/etc/x", content: { inline: { data } } }] },
    provisioningConfig: { packages: ["jq", "auditd"] },
  });
  const facts = renderFacts({ deployment: { annotations: annotated({ zones: "a,b" }) } });
  try {
    const { bootstrapConfig, provisioningConfig } = await renderConfig(go, facts);
    assert.equal(bootstrapConfig.files[0]?.content.inline.data, "1000000 [a][b] yes");
    assert.deepEqual(bootstrapConfig.packages, ["auditd", "jq"]);
    assert.equal(
      "packages" in provisioningConfig,
      false,
      "Expected no packages where cloud-init does not install them",
    );
  } finally {
    await closeTemplateEngines();
  }
});

Deno.test("parameterValues: accepts the longest list that annotations can have", () => {
  const parameters: OsProfile["parameters"] = { zones: { type: "list", description: "", pattern: "[a-z]" } };
  const annotations = { "parameter.ostler.dev/zones": Array(131_072).fill("a").join(",") };
  assert.equal((parameterValues({ parameters }, annotations)["zones"] as string[]).length, 131_072);
});
