/** Objects in `examples/` are valid for Ostler. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { parseAllDocuments } from "yaml";
import { NodePool } from "../../activities/kube/node_pools.ts";
import { RolloutPolicySpec } from "../../activities/policy/rollout_policy.ts";
import { FakeTerminal } from "../support/fake_terminal.ts";

const folder = new URL("../../examples/", import.meta.url);
const names = readdirSync(folder).filter((name) => name.endsWith(".yaml"));
const textOf = (name: string): string => readFileSync(new URL(name, folder), "utf8");
const files = Object.fromEntries(names.map((name) => [name, textOf(name)]));

interface Example {
  kind: string;
  spec: unknown;
}

const objects = names.flatMap((name) => parseAllDocuments(textOf(name)).map((each) => each.toJS() as Example));
const ofKind = (kind: string): Example[] => objects.filter((each) => each.kind === kind);

Deno.test("examples: the example profile is valid, and renders for the example MachineDeployment", async () => {
  using terminal = new FakeTerminal(files);
  const { code, out } = await terminal.run(["validate", "osp-acme.yaml"]);
  assert.equal(code, 0, out);
  const rendered = await terminal.run(["render", "osp-acme.yaml", "pool.yaml"]);
  assert.equal(rendered.code, 0, rendered.err);
  assert.match(rendered.out, /^machines +kube-system\/pool, kubelet 1\.36\.1 on kubevirt$/m);
  const against = await terminal.run(["diff", "osp-ubuntu", "osp-acme.yaml", "pool.yaml"]);
  assert.match(against.out, /auditd/);
});

Deno.test("examples: policies and NodePools are valid", () => {
  assert.deepEqual([ofKind("RolloutPolicy").length, ofKind("NodePool").length], [2, 1]);
  for (const { spec } of ofKind("RolloutPolicy")) RolloutPolicySpec.parse(spec);
  for (const { spec } of ofKind("NodePool")) NodePool.shape.spec.parse(spec);
});

Deno.test("examples: README.md names each example file", () => {
  const readme = textOf("README.md");
  assert.deepEqual(names.filter((name) => !readme.includes(`\`${name}\``)), []);
});
