import { deepEqual, match, ok } from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { conditionsOfReason, upgradeReason, upgradeReasons } from "../../../../workflows/kubernetes/upgrade_reasons.ts";

const root = new URL("../../../../workflows/", import.meta.url);
const folder = readdirSync(new URL("kubernetes/", root)).filter((name) => name !== "upgrade_reasons.ts");
const workflows = ["upgrade_kubernetes.ts", "renew_certificates.ts", "contracts/kubernetes.ts"];
const sources = [...folder.map((name) => `kubernetes/${name}`), ...workflows]
  .map((file) => readFileSync(new URL(file, root), "utf8"));

/** Finds in the sources every reason that an upgrade or a renewal reports, or quotes in a message. */
function reasonsInSources(): string[] {
  const found = sources.flatMap((text) => [
    ...matches(text, /\breason: "(\w+)"/g),
    ...matches(text, /\brefuse\([^"]*?"(\w+)"/g),
    ...matches(text, /\btoo\w+\([^)]*\)[^{]*\{[^}]*?refuse\(\w+, "(\w+)"/g),
    ...matches(text, /\? "halt" .*: "(\w+)"/g),
    ...matches(text, /trouble\.reason : "(\w+)"/g),
    ...matches(text, /\?\.kind \?\? "(\w+)"/g),
    ...unionOf(text, /\n {2}reason:\n((?: {4}\| "\w+";?\n)+)/),
    ...unionOf(text, /type UpgradeRefusal =\n((?: {2}\| "\w+";?\n)+)/),
    ...unionOf(text, /\n {2}kind: (.*);\n {2}stops/),
  ]);
  return [...new Set(found)].sort();
}

function matches(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map(([, name = ""]) => name);
}

function unionOf(text: string, pattern: RegExp): string[] {
  return matches(pattern.exec(text)?.[1] ?? "", /"(\w+)"/g);
}

Deno.test("upgradeReason: explains every reason that the upgrade of Kubernetes reports", () => {
  const found = reasonsInSources();
  deepEqual(found.filter((reason) => !upgradeReason(reason)), []);
  // Proves that the search finds reasons in each form in which the sources write them.
  for (
    const reason of [
      ...["UpToDate", "AwaitingApproval", "ControlPlaneNotReady", "UpgradeHalted", "UpgradeCancelled", "Downgrade"],
      ...["VersionInvalid", "VersionUnknown", "ComponentsMissing", "ApiRemoved", "KubeadmRefuses", "HashMismatch"],
      ...["ApiUnavailable", "KubeletTooNew", "KubeletTooOld", "EtcdSaved", "EtcdNotSaved", "DrainBlocked", "Checking"],
    ]
  ) ok(found.includes(reason), reason);
});

/** Reasons of failed requests, which any step can report. */
const ofRequests = [
  ...["AccessDenied", "ObjectInvalid", "CloudRefused", "ControlPlaneRefused", "EtcdAccessMissing", "InternalError"],
];

Deno.test("upgradeReason: has no explanation for a reason that no code reports", () => {
  const known = [...reasonsInSources(), ...ofRequests];
  deepEqual(upgradeReasons.filter((reason) => !known.includes(reason)), []);
});

/** Returns the reasons that `files` report; the callers omit files that both upgrades and renewals use. */
function reasonsIn(...files: string[]): string[] {
  return files.flatMap((file) => matches(readFileSync(new URL(file, root), "utf8"), /\breason: "(\w+)"/g));
}

Deno.test("conditionsOfReason: names the condition of each reason that an upgrade or a renewal reports", () => {
  const renewal = reasonsIn(
    ...["renew_certificates.ts", "kubernetes/next_renewal_step.ts", "kubernetes/renewal_halts.ts"],
    "kubernetes/renew_control_plane.ts",
  );
  const upgrade = reasonsIn(
    ...["upgrade_kubernetes.ts", "kubernetes/next_upgrade_step.ts", "kubernetes/upgrade_control_plane.ts"],
  );
  ok(renewal.length > 5 && upgrade.length > 5);
  deepEqual(renewal.filter((reason) => !conditionsOfReason(reason).includes("CertificatesRenewed")), []);
  deepEqual(upgrade.filter((reason) => !conditionsOfReason(reason).includes("KubernetesUpgraded")), []);
  deepEqual(conditionsOfReason("UpgradeHalted"), ["KubernetesUpgraded"]);
  deepEqual(conditionsOfReason("Renewing"), ["CertificatesRenewed"]);
});

Deno.test("upgradeReason: explains each reason in whole sentences, and returns undefined for an unknown reason", () => {
  for (const reason of upgradeReasons) {
    for (const text of Object.values(upgradeReason(reason) ?? {})) match(text, /^[A-Zk].*\.$/, `${reason}: ${text}`);
  }
  deepEqual([upgradeReason("toString"), upgradeReason("Nothing")], [undefined, undefined]);
});
