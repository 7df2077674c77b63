import type { V1ContainerPort, V1Pod } from "@kubernetes/client-node";
import assert from "node:assert/strict";
import type { ClusterView, NetworkPolicy } from "../../../../../deploy/local/machines/policies/cluster_view.ts";
import { podRules } from "../../../../../deploy/local/machines/policies/pod_rules.ts";

const subnet = "10.244.1.0/24";
const [web, client, elsewhere] = ["10.244.1.2", "10.244.1.3", "10.244.2.2"];
const metrics = [{ name: "metrics", containerPort: 9090 }] as V1ContainerPort[];

Deno.test("podRules: allows traffic of pods without a policy, and drops traffic of unknown pods", () => {
  const lines = rulesOf([]);
  assert.ok(lines.includes(`-A POD-EGRESS -s ${client} -j RETURN`));
  assert.equal(lines.filter((line) => line.startsWith("-A POD-EGRESS")).at(-1), `-A POD-EGRESS -s ${subnet} -j DROP`);
  assert.ok(
    !lines.some((line) => line.includes(elsewhere)),
    "Expected no rule for a pod on another machine, which has the rules for its own pods",
  );
});

Deno.test("podRules: allows only what a policy names, in the directions of the policy", () => {
  const lines = rulesOf([{ podSelector: { matchLabels: { app: "web" } }, policyTypes: ["Ingress"] }]);
  assert.deepEqual(chain(lines, `POD-INGRESS-${web}`), ["-j REJECT --reject-with icmp-admin-prohibited"]);
  assert.deepEqual(chain(lines, `POD-EGRESS-${web}`), []);
});

Deno.test("podRules: applies a policy without types to both directions when it has egress rules", () => {
  const lines = rulesOf([{
    podSelector: {},
    egress: [{ ports: [{ port: 53, protocol: "UDP" }, { protocol: "TCP" }] }],
  }]);
  assert.deepEqual(chain(lines, `POD-EGRESS-${client}`).slice(0, -1), [
    "-d 0.0.0.0/0 -p udp --dport 53 -j RETURN",
    "-d 0.0.0.0/0 -p tcp -j RETURN",
  ]);
  assert.equal(chain(lines, `POD-INGRESS-${client}`).length, 1);
});

Deno.test("podRules: finds peers by pod selector and namespace selector, and a named port on the destination pod", () => {
  const inside = { from: [{ podSelector: { matchLabels: { app: "client" } } }], ports: [{ port: "metrics" }] };
  const outside = {
    from: [{ namespaceSelector: { matchLabels: { team: "b" } } }],
    ports: [{ port: "absent" }, { port: 1, endPort: 9 }],
  };
  const lines = rulesOf([{ podSelector: { matchLabels: { app: "web" } }, ingress: [inside, outside] }]);
  assert.deepEqual(chain(lines, `POD-INGRESS-${web}`).slice(0, -1), [
    `-s ${client}/32 -p tcp --dport 9090 -j RETURN`,
    `-s ${elsewhere}/32 -p tcp --dport 1:9 -j RETURN`,
  ]);
});

Deno.test("podRules: excludes the ranges in ipBlock.except of a policy", () => {
  const to = [{ ipBlock: { cidr: "10.0.0.0/30", except: ["10.0.0.1/32", "10.0.0.2/31"] } }];
  const lines = rulesOf([{ podSelector: {}, egress: [{ to }] }]);
  assert.deepEqual(chain(lines, `POD-EGRESS-${web}`).slice(0, -1), ["-d 10.0.0.0/32 -j RETURN"]);
});

function rulesOf(specs: NonNullable<NetworkPolicy["spec"]>[]): string[] {
  const view: ClusterView = {
    pods: [
      podAt(web, { name: "web", ports: metrics }),
      podAt(client, { name: "client" }),
      podAt(elsewhere, { name: "other", namespace: "b" }),
      { spec: { hostNetwork: true, containers: [] }, status: { podIP: "10.244.1.9" } },
      { ...podAt("10.244.1.8", { name: "web" }), status: { podIP: "10.244.1.8", phase: "Succeeded" } },
    ],
    namespaces: [{ metadata: { name: "a" } }, { metadata: { name: "b", labels: { team: "b" } } }],
    policies: specs.map((spec) => ({ metadata: { namespace: "a" }, spec })),
  };
  return podRules(view, subnet).split("\n");
}

function podAt(
  podIP: string,
  { name, namespace = "a", ports = [] }: { name: string; namespace?: string; ports?: V1ContainerPort[] },
): V1Pod {
  return {
    metadata: { name, namespace, labels: { app: name } },
    spec: { containers: [{ name: "main", ports }] },
    status: { podIP, phase: "Running" },
  };
}

function chain(lines: readonly string[], name: string): string[] {
  return lines.filter((line) => line.startsWith(`-A ${name} `)).map((line) => line.slice(name.length + 4));
}
