import assert from "node:assert/strict";
import { parseCloudConfig } from "../../../../../deploy/local/cloud/boot/cloud_config.ts";
import { nodeFiles } from "../../../../../deploy/local/machines/groups/node_files.ts";
import { userData } from "../../../../../deploy/local/machines/groups/user_data.ts";
import { closeTemplateEngines } from "../../../../../profiles/mod.ts";
import { testCa } from "../../../../support/render_facts.ts";

const cluster = { apiServer: "https://192.0.2.1:6443", caPem: testCa };
const instance = { node: "blue-7", providerId: "sim:///b/blue-7", zone: "b" };
const kubeletUnit = "/etc/systemd/system/kubelet.service";

Deno.test("userData: has the kubelet version, provider ID and zone of the instance, and the bootstrap ticket in only one file", async () => {
  const settings = { OSTLER_BINARIES_URL: "http://192.0.2.2" };
  const files = await nodeFiles({ kubelet: "1.35.3", cluster, settings, annotations: {} });
  await closeTemplateEngines();
  const written = parseCloudConfig(userData({ instance, files, cluster, ticket: "abc.secret" }), "user-data").files;
  const textOf = (path: string): string => written.get(path)?.content ?? "";
  assert.match(textOf("/etc/ostler/setup.env"), /^KUBELET_VERSION="v?1\.35\.3"$/m);
  assert.match(textOf("/etc/ostler/setup.env"), /^KUBERNETES_URL="http:\/\/192\.0\.2\.2"$/m);
  const flags = "--provider-id=sim:///b/blue-7 --node-labels=topology.kubernetes.io/zone=b";
  assert.ok(textOf(kubeletUnit).includes(`\nExecStart=/opt/bin/kubelet ${flags} \\\n`), textOf(kubeletUnit));
  const withTicket = [...written].filter(([, { content }]) => content.includes("abc.secret"));
  assert.deepEqual(withTicket.map(([path, { mode }]) => [path, mode]), [
    ["/etc/kubernetes/bootstrap-kubelet.conf", 0o600],
  ]);
  assert.equal(textOf("/etc/machine-name"), "blue-7");
  assert.deepEqual([...written.keys()].filter((path) => /token|\/setup(\.service)?$/.test(path)), []);
});

Deno.test("userData: refuses a unit that starts no kubelet", () => {
  const files = [{ path: kubeletUnit, permissions: "0600", content: "[Service]\nExecStart=/bin/true\n" }];
  assert.throws(
    () => userData({ instance, files, cluster, ticket: "" }),
    /Failed to set provider id and zone of a kubelet: "\/etc\/systemd\/system\/kubelet.service" starts no kubelet/,
  );
});
