import { KubeConfig, loadYaml } from "@kubernetes/client-node";
import assert from "node:assert/strict";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { clusterInfoKubeconfig, writeKubeconfig } from "../../../../deploy/local/stack/kubeconfig_file.ts";
import { scratchDirectory } from "../../../support/scratch_directory.ts";

const apiServer = { url: "https://127.0.0.1:6443", caPem: "-----BEGIN CERTIFICATE-----\n" };
const base64 = (text: string) => Buffer.from(text).toString("base64");

Deno.test("writeKubeconfig: writes a kubeconfig with a token that only its owner can read", async () => {
  await using scratch = await scratchDirectory();
  const path = await writeKubeconfig(join(scratch.path, "kubeconfigs", "worker.yaml"), {
    apiServer,
    userName: "worker",
    credentials: { token: "a-token" },
    namespace: "ostler",
  });
  const config = new KubeConfig();
  config.loadFromFile(path);
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  assert.equal(config.getCurrentCluster()?.server, apiServer.url);
  assert.equal(config.getCurrentCluster()?.caData, base64(apiServer.caPem));
  assert.equal(config.getCurrentUser()?.token, "a-token");
  assert.equal(config.getContextObject(config.getCurrentContext())?.namespace, "ostler");
});

Deno.test("writeKubeconfig: embeds a client certificate in the kubeconfig", async () => {
  await using scratch = await scratchDirectory();
  const path = await writeKubeconfig(join(scratch.path, "admin.yaml"), {
    apiServer,
    userName: "admin",
    credentials: { certificatePem: "certificate", keyPem: "key" },
  });
  const config = new KubeConfig();
  config.loadFromFile(path);
  const user = config.getCurrentUser();
  assert.deepEqual([user?.certData, user?.keyData], [base64("certificate"), base64("key")]);
  assert.equal(user?.token, undefined);
});

Deno.test("clusterInfoKubeconfig: has server and CA without credentials", () => {
  const config = loadYaml<{ clusters: unknown; users: unknown }>(clusterInfoKubeconfig(apiServer));
  const cluster = { server: apiServer.url, "certificate-authority-data": base64(apiServer.caPem) };
  assert.deepEqual(config.clusters, [{ name: "", cluster }]);
  assert.deepEqual(config.users, []);
});
