import assert from "node:assert/strict";
import { type Bootstrap, readBootstrap } from "../../../../deploy/local/cloud/boot/boot.ts";
import { parseCloudConfig } from "../../../../deploy/local/cloud/boot/cloud_config.ts";
import { type Provisioning, readProvisioning } from "../../../../deploy/local/cloud/boot/provisioning.ts";
import { type Files, kubeletUnit, makeCa, provisioningConfig, userData } from "./boot_fixtures.ts";

const ca = await makeCa();
const otherCa = await makeCa();
const values = { hostname: "w-1", server: "https://127.0.0.1:1", ca, token: "t0ken", secretName: "pool-config" };

function bootstrap(changed: Files = {}, rest: Record<string, unknown> = {}): Bootstrap {
  return readBootstrap(parseCloudConfig(userData(values, changed, rest), "user-data"));
}

function provisioning(changed: Files = {}): Provisioning {
  return readProvisioning(parseCloudConfig(provisioningConfig(ca, "kubeconfig-secret", changed), "config"), ca);
}

Deno.test("readBootstrap: finds server, CA, token and Secret name in the user-data alone", () => {
  assert.deepEqual(bootstrap(), {
    hostname: "w-1",
    access: { server: "https://127.0.0.1:1", ca, token: "t0ken" },
    provisioning: { namespace: "cloud-init-settings", name: "pool-config" },
    report: undefined,
  });
});

Deno.test("readBootstrap: finds the ConfigMap for boot reports when the user-data names it", () => {
  const content = `API_SERVER="https://a"\nSECRET_NAMESPACE="ns"\nSECRET_NAME="b"\nBOOT_REPORT="reports"\n`;
  const { report } = bootstrap({ "/etc/ostler/boot.env": { content } });
  assert.deepEqual(report, { namespace: "ns", name: "reports" });
});

for (const path of ["/etc/ostler/boot.env", "/etc/ostler/ca.crt", "/etc/ostler/token", "/opt/bin/bootstrap"]) {
  Deno.test(`readBootstrap: names the missing file ${path}`, () => {
    assert.throws(() => bootstrap({ [path]: undefined }), new RegExp(`Invalid file "${path}": it is missing`));
  });
}

const brokenBootstraps: Record<string, [changed: Files, rest: Record<string, unknown>, reason: RegExp]> = {
  "plain http": [
    { "/etc/ostler/boot.env": { content: `API_SERVER="http://a"\nSECRET_NAMESPACE="a"\nSECRET_NAME="b"\n` } },
    {},
    /API_SERVER "http:\/\/a" is not an https address/,
  ],
  "user-data without a Secret name": [
    { "/etc/ostler/boot.env": { content: `API_SERVER="https://a"\nSECRET_NAMESPACE="a"\nSECRET_NAME=""\n` } },
    {},
    /"\/etc\/ostler\/boot.env": it does not set SECRET_NAME/,
  ],
  "an invalid CA": [{ "/etc/ostler/ca.crt": { content: "x" } }, {}, /it has no PEM certificate/],
  "a token all may read": [
    { "/etc/ostler/token": { content: "x" } },
    {},
    /token": mode "644" allows others to read it/,
  ],
  "a script that cannot run": [{ "/opt/bin/bootstrap": { content: "x" } }, {}, /bootstrap": it is not executable/],
  "a script without a unit": [{ "/etc/systemd/system/bootstrap.service": undefined }, {}, /no systemd unit runs it/],
  "a runcmd that does not start the unit": [{}, { runcmd: [] }, /runcmd does not start unit "bootstrap.service"/],
  "user-data without a hostname": [{}, { hostname: undefined }, /it sets no hostname/],
  "a placeholder as hostname": [{}, { hostname: "<MACHINE_NAME>" }, /hostname "<MACHINE_NAME>" is not a DNS name/],
};

for (const [what, [changed, rest, reason]] of Object.entries(brokenBootstraps)) {
  Deno.test(`readBootstrap: refuses ${what}`, () => {
    assert.throws(() => bootstrap(changed, rest), reason);
  });
}

Deno.test("readProvisioning: finds kubelet version, kubeconfig secret and taints", () => {
  const found = provisioning({
    "/etc/systemd/system/kubelet.service": {
      content: kubeletUnit("--register-with-taints=a=b:NoSchedule,c:NoExecute"),
    },
  });
  assert.deepEqual(found, {
    kubelet: "v1.36.1",
    kubeconfigSecret: "kubeconfig-secret",
    taints: [{ key: "a", value: "b", effect: "NoSchedule" }, { key: "c", effect: "NoExecute" }],
  });
});

const neededFiles = [
  "/etc/ostler/setup.env",
  "/opt/bin/setup",
  "/etc/systemd/system/kubelet.service",
  "/etc/kubernetes/kubelet.conf",
  "/etc/kubernetes/pki/ca.crt",
  "/etc/containerd/config.toml",
];

for (const path of neededFiles) {
  Deno.test(`readProvisioning: names the missing file ${path}`, () => {
    assert.throws(() => provisioning({ [path]: undefined }), new RegExp(`Invalid file "${path}": it is missing`));
  });
}

const brokenProvisionings: Record<string, [changed: Files, reason: RegExp]> = {
  "a setup script nothing runs": [{ "/etc/systemd/system/setup.service": undefined }, /setup": no systemd unit/],
  "another CA": [{ "/etc/kubernetes/pki/ca.crt": { content: otherCa } }, /pki\/ca.crt": it differs from/],
  "a kubelet without its flags": [
    { "/etc/systemd/system/kubelet.service": { content: "[Service]\nExecStart=/opt/bin/kubelet\n" } },
    /flag --bootstrap-kubeconfig is not "\/etc\/kubernetes\/bootstrap-kubelet.conf"/,
  ],
  "a unit without kubelet": [
    { "/etc/systemd/system/kubelet.service": { content: "[Service]\nExecStart=/bin/true\n" } },
    /it starts no kubelet/,
  ],
  "a kubelet.conf of another kind": [
    { "/etc/kubernetes/kubelet.conf": { content: "apiVersion: v1\nkind: Pod\n" } },
    /kubelet.conf": it is not a KubeletConfiguration/,
  ],
  "a kubelet.conf that does not parse": [
    { "/etc/kubernetes/kubelet.conf": { content: "a: [" } },
    /"\/etc\/kubernetes\/kubelet.conf": it is not valid YAML/,
  ],
  "a containerd config all may read": [
    { "/etc/containerd/config.toml": { content: "x" } },
    /config.toml": mode "644" allows others to read it/,
  ],
  "a registry credential all may read": [
    { "/etc/containerd/certs.d/r/hosts.toml": { content: "x" } },
    /hosts.toml": mode "644" allows others to read it/,
  ],
  "an invalid version": [
    { "/etc/ostler/setup.env": { content: `KUBELET_VERSION="new"\nBOOTSTRAP_KUBECONFIG_SECRET="x"\n` } },
    /KUBELET_VERSION "new" is not a version/,
  ],
};

for (const [what, [changed, reason]] of Object.entries(brokenProvisionings)) {
  Deno.test(`readProvisioning: refuses ${what}`, () => {
    assert.throws(() => provisioning(changed), reason);
  });
}
