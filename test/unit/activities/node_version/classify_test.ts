import { equal } from "node:assert/strict";
import { classOf } from "../../../../activities/node_version/classify.ts";
import { PendingNode } from "../../../../activities/kube/update_kinds.ts";
import { MarkedNode, marks } from "../../../../activities/node_version/marks.ts";

const target = { image: "I2", components: "K2" };
const none: PendingNode[] = [];

function join(name: string, { cspState = "Ready", goal = "Join" } = {}): PendingNode[] {
  const metadata = { name, uid: "u", creationTimestamp: "2026-01-01T00:00:00Z" };
  return [PendingNode.parse({ metadata, spec: { nodeName: name, goal }, status: { cspState } })];
}

type Marks = Partial<Record<keyof typeof marks, string>>;

function node(image: string, components: string, more: Marks = {}): MarkedNode {
  const given = Object.entries({ image, components, ...more }).filter(([, value]) => value !== "");
  const annotations = Object.fromEntries(given.map(([key, value]) => [marks[key as keyof typeof marks], value]));
  return MarkedNode.parse({ metadata: { name: "n", annotations }, spec: { providerID: "sim:///n" } });
}

const cases: [string, MarkedNode, PendingNode[], string][] = [
  ["G1 an old image", node("I1", "K2"), none, "outdated"],
  ["G2 old components", node("I2", "K1"), none, "outdated"],
  ["G3 the desired image and components, and no other annotation", node("I2", "K2"), none, "upToDate"],
  ["G4 an old image and an annotation with its new node", node("I1", "K2", { heir: "h" }), none, "donors"],
  ["G5 old components and an annotation with its new node", node("I2", "K1", { heir: "h" }), none, "donors"],
  ["G6 an annotation with its old node", node("I2", "K2", { donor: "d" }), none, "heirs"],
  ["G7 an annotation with its old node, and no components", node("I2", "", { donor: "d" }), none, "awaitingAnnotation"],
  ["G8 an annotation with its old node, and no image", node("", "K2", { donor: "d" }), none, "awaitingAnnotation"],
  ["G9 an obsolete annotation", node("I2", "K2", { obsolete: "true" }), none, "obsolete"],
  ["G10 a PendingNode with goal Join", node("I2", "K2"), join("n"), "mints"],
  [
    "G11 a PendingNode whose instance is being created",
    node("I2", "K2"),
    join("n", { cspState: "Creating" }),
    "upToDate",
  ],
  ["G11 a PendingNode with goal Leave", node("I2", "K2"), join("n", { goal: "Leave" }), "upToDate"],
  ["G11 the PendingNode of another node", node("I2", "K2"), join("m"), "upToDate"],
  ["G12 an image and components in another letter case", node("i2", "k2"), none, "upToDate"],
  ["G13 an old image and a PendingNode with goal Join", node("I1", "K2"), join("n"), "outdated"],
  ["G14 an old image and an annotation with its old node", node("I1", "K2", { donor: "d" }), none, "outdated"],
  ["G15 an obsolete annotation and no image", node("", "K2", { obsolete: "true" }), none, "obsolete"],
];

const bare = { image: "I2", components: "" };

Deno.test("fault G1: with a NodeVersion without components, classOf ignores the components annotation of nodes", () => {
  equal(classOf(node("I2", ""), bare, none), "upToDate");
  equal(classOf(node("I2", "K1"), bare, none), "upToDate");
  equal(classOf(node("I1", ""), bare, none), "outdated");
});

for (const [what, given, pending, wanted] of cases) {
  Deno.test(`classOf: returns ${wanted} for ${what}`, () => equal(classOf(given, target, pending), wanted));
}

Deno.test("N3 classOf: treats a node without a machine as invalid, whatever its annotations", () => {
  equal(classOf({ ...node("I2", "K2"), providerId: "" }, target, none), "invalid");
});

Deno.test("MarkedNode: recognizes a control plane by its label, whatever the value", () => {
  const labels = { "node-role.kubernetes.io/control-plane": "" };
  equal(MarkedNode.parse({ metadata: { name: "n", labels } }).isControlPlane, true);
  equal(node("I2", "K2").isControlPlane, false);
});
