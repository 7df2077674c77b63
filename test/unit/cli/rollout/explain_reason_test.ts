import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { upgradeReasons } from "../../../../workflows/kubernetes/upgrade_reasons.ts";
import { FakeWorld } from "../../../support/fake_world.ts";
import { UpgradeWorld } from "../../../support/upgrade_world.ts";

async function explained(reason: string, ...flags: string[]): Promise<{ code: number; out: string; err: string }> {
  const made = new FakeWorld();
  made.kube.onRequest = (request) => {
    throw new Error(`Failed to explain a reason: request "${request}"`);
  };
  return await made.run(["explain", reason, ...flags], { isWatched: true, columns: () => 80, env: { NO_COLOR: "1" } });
}

Deno.test("ostler explain REASON: shows the meaning, the next step and the remedy of the reason, without a request to a server", async () => {
  const { code, out, err } = await explained("MinorSkipped");
  assert.deepEqual([code, err], [0, ""]);
  assert.deepEqual(out.split("\n"), [
    "MinorSkipped, of condition KubernetesUpgraded",
    "meaning     The version is more than one minor version later than that of a",
    "            control plane, and kubeadm cannot skip a minor version.",
    "next        Ostler reads the NodeVersion again as soon as it changes.",
    "to do       First set spec.kubernetesClusterVersion to a patch version of the",
    "            next minor version.",
    "",
  ]);
});

Deno.test("ostler explain REASON: shows both remedies for a reason that pools and upgrades share", async () => {
  const { out } = await explained("OutsideWindow");
  assert.match(out, /^OutsideWindow, of conditions KubernetesUpgraded and CertificatesRenewed$/m);
  assert.match(out, /\n\nOutsideWindow, of a pool\nto do {7}Wait for the next window, or change/);
  const { out: pool } = await explained("Quarantined");
  assert.match(pool, /^Quarantined, of a pool\nto do {7}Change the MachineDeployment: /);
  const data = JSON.parse((await explained("OutsideWindow", "-o", "json")).out);
  assert.deepEqual(Object.keys(data), ["reason", "kubernetesUpgraded", "certificatesRenewed", "pool"]);
  assert.deepEqual(Object.keys(data.kubernetesUpgraded), ["means", "next", "todo"]);
});

Deno.test("ostler explain REASON: names condition CertificatesRenewed for a reason that only renewals of certificates have", async () => {
  const { out } = await explained("RenewalHalted");
  assert.match(out, /^RenewalHalted, of condition CertificatesRenewed\nmeaning /);
  const data = JSON.parse((await explained("RenewalHalted", "-o", "json")).out);
  assert.deepEqual(Object.keys(data), ["reason", "certificatesRenewed"]);
});

Deno.test("ostler explain REASON: fits into 80 columns, whatever the reason", async () => {
  for (const reason of upgradeReasons) {
    const { code, out } = await explained(reason);
    assert.equal(code, 0, reason);
    for (const line of out.split("\n")) assert.ok(line.length <= 80, line);
  }
});

Deno.test("ostler explain REASON: explains each reason of pools that docs/how-to/operate.md names as one of a pool", async () => {
  const page = await readFile(new URL("../../../../docs/how-to/operate.md", import.meta.url), "utf8");
  const rows = [...page.matchAll(/^\| (?:`Blocked`: )?((?:`[A-Z]\w+`(?:, )?)+) \|/gm)].map(([, cell = ""]) => cell);
  const reasons = rows.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, reason = ""]) => reason));
  assert.ok(reasons.length > 40);
  const pools = new Set<string>();
  for (const reason of reasons) {
    const { out } = await explained(reason);
    if (out.includes(`${reason}, of a pool\n`)) pools.add(reason);
  }
  assert.deepEqual(reasons.filter((reason) => !pools.has(reason)), []);
});

Deno.test("ostler explain REASON: exits with 1 for an unknown reason, and suggests a similar one", async () => {
  const { code, err } = await explained("AwaitingAproval");
  assert.equal(code, 1);
  assert.match(err, /Failed to explain reason "AwaitingAproval": unknown reason; did you mean "AwaitingApproval"\?/);
  assert.match((await explained("X")).err, /unknown reason; docs\/how-to\/operate\.md has the conditions/);
});

Deno.test("ostler explain nodeversion/NAME: shows the conditions, and explains the reason of condition KubernetesUpgraded", async () => {
  const made = new UpgradeWorld();
  const { code, out } = await made.run(["explain", "nodeversion/v"]);
  assert.equal(code, 0);
  assert.match(
    out,
    /^NodeVersion "v" asks for image "image-1" and Kubernetes "v1\.36\.1"\. Ostler's worker has not evaluated the NodeVersion yet\. Kubern/,
  );
  assert.match(
    out,
    /KubernetesUpgraded is False \(AwaitingApproval\): Waiting .*\. That means: .* To do: Read ostler plan/,
  );
  const data = JSON.parse((await made.run(["explain", "nv/v", "-o", "json"])).out);
  assert.deepEqual([data.nodeVersion, data.kubernetes.upgraded.reason], ["v", "AwaitingApproval"]);
  assert.match(data.explanation.means, /checked/);
  const { code: missing, err } = await made.run(["explain", "nodeversion/w"]);
  assert.deepEqual([missing, /Failed to find NodeVersion "w"/.test(err)], [1, true]);
});

Deno.test("ostler explain nodeversion/NAME: adds no explanation to the condition of a complete upgrade", async () => {
  const condition = { type: "KubernetesUpgraded", status: "True", reason: "UpToDate", message: "All run v1.36.1" };
  const { out } = await new UpgradeWorld({ condition }).run(["explain", "nodeversion/v"]);
  assert.match(out, /KubernetesUpgraded is True \(UpToDate\): All run v1\.36\.1\.\n$/);
});
