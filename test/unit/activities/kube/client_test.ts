import { KubeConfig } from "@kubernetes/client-node";
import { equal } from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { caOf } from "../../../../activities/kube/client.ts";

const pem = "-----BEGIN CERTIFICATE-----\nTUlJQg==\n-----END CERTIFICATE-----\n";

function config(ca: { caData?: string; caFile?: string }): KubeConfig {
  const kubeConfig = new KubeConfig();
  const cluster = { name: "c", server: "https://api.example:6443", skipTLSVerify: false, ...ca };
  kubeConfig.loadFromClusterAndUser(cluster, { name: "u" });
  return kubeConfig;
}

Deno.test("caOf: returns the CA of a kubeconfig, inline or from a file", () => {
  const directory = mkdtempSync(join(tmpdir(), "ostler-ca-"));
  try {
    const caFile = join(directory, "ca.crt");
    writeFileSync(caFile, pem);
    equal(caOf(config({ caData: btoa(pem) })), pem);
    equal(caOf(config({ caFile })), pem);
    equal(caOf(config({})), "");
    equal(caOf(new KubeConfig()), "");
  } finally {
    rmSync(directory, { recursive: true });
  }
});
