import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { upgradeDigestOf } from "../../../../activities/kubernetes/components.ts";
import { checkUpgrade } from "../../../../activities/kubernetes/check.ts";
import { removedIn } from "../../../../activities/kubernetes/removed_apis.ts";
import { refused } from "../../../../activities/failures.ts";
import type { UpgradeFinding } from "../../../../workflows/contracts/mod.ts";
import { answer } from "../../../support/fake_kube.ts";
import { componentsOf, desired, UpgradeStage } from "../../../support/upgrade_stage.ts";

const digest = upgradeDigestOf(desired, JSON.stringify(componentsOf(desired)));

async function check(stage: UpgradeStage): Promise<UpgradeFinding[]> {
  const { digest: of, findings } = await checkUpgrade(stage.client, { object: stage.object, digest });
  equal(of, digest);
  return findings;
}

function used(resource: string, release: string, value = 1): string {
  const labels = `group="flowcontrol.apiserver.k8s.io",removed_release="${release}",resource="${resource}"`;
  return `apiserver_requested_deprecated_apis{${labels},subresource="",version="v1beta3"} ${value}`;
}

/** Adds API servers at these addresses to the EndpointSlice "kubernetes", as each API server does itself. */
function serve(stage: UpgradeStage, ...addresses: string[]): void {
  stage.kube.put("endpointslices", {
    metadata: { namespace: "default", name: "kubernetes", labels: { "kubernetes.io/service-name": "kubernetes" } },
    ...{ addressType: "IPv4", endpoints: [{ addresses }], ports: [{ name: "https", port: 6443 }] },
  });
}

Deno.test("checkUpgrade: finds nothing in a healthy cluster", async () => {
  const stage = new UpgradeStage();
  deepEqual(await check(stage), []);
  deepEqual(stage.kube.writes, []);
});

Deno.test("checkUpgrade: fails as GenerationStale when the version, the components or the NodeVersion changed", async () => {
  const moot = { type: "GenerationStale", nonRetryable: true };
  const stage = new UpgradeStage();
  stage.want("v1.36.2");
  await rejects(check(stage), moot);
  stage.want(desired, JSON.stringify(componentsOf("v1.36.2")));
  await rejects(check(stage), moot);
  stage.kube.remove("nodeversions", "v");
  await rejects(check(stage), moot);
});

Deno.test("removedIn: returns used APIs that are removed up to the version", () => {
  const rows: [line: string, is: string[]][] = [
    [used("flowschemas", "1.36"), ["flowschemas of flowcontrol.apiserver.k8s.io/v1beta3"]],
    [used("flowschemas", "1.9"), ["flowschemas of flowcontrol.apiserver.k8s.io/v1beta3"]],
    [used("flowschemas", "1.37"), []],
    [used("flowschemas", "1.36", 0), []],
    [used("flowschemas", ""), []],
    [`# ${used("flowschemas", "1.36")}`, []],
    ['apiserver_requested_deprecated_apis{group="",removed_release="1.36",resource="x",version="v1"} 1', ["x of v1"]],
    ['apiserver_requested_deprecated_apis{group="a\\"b",removed_release="1.36"', []],
    ["apiserver_requested_deprecated_apis{", []],
  ];
  for (const [line, is] of rows) deepEqual(removedIn(`a 1\n${line}\nb 2`, desired), is, line);
});

Deno.test("checkUpgrade: blocks the upgrade when clients use an API that the version removes, whichever API server has served it", async () => {
  const stage = new UpgradeStage();
  serve(stage, "192.0.2.1", "192.0.2.2");
  stage.kube.metricsOf = (server) => {
    if (server === undefined) return used("flowschemas", "1.36");
    return server === "https://192.0.2.2:6443" ? used("prioritylevelconfigurations", "1.36") : "";
  };
  const [finding, ...others] = await check(stage);
  deepEqual([finding?.kind, finding?.stops, others], ["ApiRemoved", true, []]);
  match(finding?.message ?? "", /flowschemas of .*v1beta3; prioritylevelconfigurations of .*; change these clients/);
});

Deno.test("checkUpgrade: reports an API server whose metrics cannot be read, unless none can be reached directly", async () => {
  const stage = new UpgradeStage();
  serve(stage, "192.0.2.1", "192.0.2.2");
  const silent: string[] = ["https://192.0.2.2:6443"];
  stage.kube.metricsOf = (server = "") => {
    if (silent.includes(server)) throw answer(503, "ServiceUnavailable");
    return "";
  };
  const [finding] = await check(stage);
  deepEqual([finding?.kind, finding?.stops], ["ApiRemoved", false]);
  match(finding?.message ?? "", /Failed to read the metrics of "https:\/\/192\.0\.2\.2:6443": HTTP 503/);
  silent.push("https://192.0.2.1:6443");
  deepEqual(await check(stage), []);
});

Deno.test("checkUpgrade: sends its credentials to no address of an EndpointSlice other than default/kubernetes", async () => {
  const stage = new UpgradeStage();
  serve(stage, "192.0.2.1", "192.0.2.2");
  const labels = { "kubernetes.io/service-name": "kubernetes" };
  stage.kube.put("endpointslices", {
    metadata: { namespace: "default", name: "forged", labels },
    ...{ addressType: "IPv4", endpoints: [{ addresses: ["198.51.100.1"] }], ports: [{ name: "https", port: 6443 }] },
  });
  const asked: (string | undefined)[] = [];
  stage.kube.metricsOf = (server) => {
    asked.push(server);
    return "";
  };
  deepEqual(await check(stage), []);
  deepEqual(asked, [undefined, "https://192.0.2.1:6443", "https://192.0.2.2:6443"]);
});

Deno.test("checkUpgrade: fails with a retryable error when reading the metrics is denied or unavailable", async () => {
  for (const [status, type] of [[403, "AccessDenied"], [503, "ApiUnavailable"]] as const) {
    const stage = new UpgradeStage();
    stage.kube.metricsOf = () => {
      throw answer(status, "No");
    };
    await rejects(check(stage), { type, nonRetryable: false });
  }
});

interface Budget {
  expectedPods: number;
  desiredHealthy: number;
  disruptionsAllowed: number;
  observedGeneration?: number;
}

/** Adds a pod on a control plane, and PodDisruptionBudgets that select it. */
function protect(stage: UpgradeStage, ...budgets: Budget[]): void {
  const labels = { app: "dns" };
  const spec = { nodeName: "workers-1", containers: [] };
  stage.kube.put("pods", { metadata: { namespace: "a", name: "dns", labels }, spec, status: { phase: "Running" } });
  budgets.forEach((status, nth) => {
    const observed = { observedGeneration: 1, ...status };
    const selector = { matchLabels: labels };
    stage.kube.put("poddisruptionbudgets", {
      metadata: { namespace: "a", name: `b${nth}` },
      spec: { selector },
      status: observed,
    });
  });
}

const full: Budget = { expectedPods: 1, desiredHealthy: 1, disruptionsAllowed: 0 };

Deno.test("checkUpgrade: returns a finding that stops the upgrade when a pod on a control plane can never be evicted", async () => {
  const stage = new UpgradeStage();
  protect(stage, full);
  const [finding, ...others] = await check(stage);
  deepEqual([finding?.kind, finding?.stops, others], ["DrainImpossible", true, []]);
  match(finding?.message ?? "", /a\/dns is protected by PodDisruptionBudget a\/b0, which requires its only pod;/);
  const twice = new UpgradeStage();
  protect(twice, { ...full, disruptionsAllowed: 1 }, { ...full, disruptionsAllowed: 1 });
  match((await check(twice))[0]?.message ?? "", /a\/dns is covered by more than one PodDisruptionBudget/);
});

Deno.test("checkUpgrade: does not block the upgrade for a PodDisruptionBudget that can allow an eviction later, or whose status is outdated", async () => {
  const budgets: Budget[] = [
    { expectedPods: 2, desiredHealthy: 1, disruptionsAllowed: 0 },
    { ...full, disruptionsAllowed: 1 },
    { ...full, observedGeneration: 0 },
    { ...full, expectedPods: 0 },
  ];
  for (const budget of budgets) {
    const stage = new UpgradeStage();
    protect(stage, budget);
    deepEqual(await check(stage), [], JSON.stringify(budget));
  }
});

Deno.test("checkUpgrade: reports a problem of etcd, or an etcd that cannot be read, as a finding that delays the upgrade and does not stop it", async () => {
  const stage = new UpgradeStage();
  stage.etcd.silent("m-workers-2");
  deepEqual(await check(stage), [
    { kind: "EtcdInDoubt", stops: false, message: 'member "workers-2" does not respond: timeout' },
  ]);
  stage.etcd.fault = refused("EtcdAccessMissing", "Failed to reach etcd: the Secret does not exist");
  deepEqual((await check(stage)).map(({ kind, stops }) => [kind, stops]), [["EtcdInDoubt", false]]);
});

Deno.test("checkUpgrade: names some of the nodes that are not Ready, and counts the others", async () => {
  const stage = new UpgradeStage();
  for (let nth = 0; nth < 1_000; nth++) {
    stage.kube.put("nodes", { metadata: { name: `w-${nth}` }, spec: {}, status: {} });
  }
  const findings = await check(stage);
  deepEqual(findings.map(({ kind, stops }) => [kind, stops]), [["NodeNotReady", false]]);
  match(findings[0]?.message ?? "", /^1000 nodes are not Ready: "w-0", "w-1", .* and 990 more$/);
  ok(JSON.stringify(findings).length < 1_000);
});
