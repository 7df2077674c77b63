/** Lists of components, as an administrator or a hostile writer may have written them. */
import { deepEqual, match, notEqual } from "node:assert/strict";
import { componentsIn, upgradeDigestOf } from "../../../../activities/kubernetes/components.ts";

const hash = `sha256:${"a".repeat(64)}`;
const url = "https://dl.k8s.io/v1.36.1/bin/linux/amd64";
const entry = (name: string, more: object = {}): object => ({
  ...{ url: `${url}/${name}`, hash, installPath: `/opt/bin/${name}`, extract: false, ...more },
});
const [kubeadm, kubelet] = [entry("kubeadm"), entry("kubelet")];

function faultIn(list: unknown): string {
  const read = componentsIn(typeof list === "string" ? list : JSON.stringify(list));
  return "fault" in read ? read.fault : "";
}

Deno.test("componentsIn: returns the programs in a components list, and leaves out archives, data URLs and other files", () => {
  const others = [
    entry("crictl", { url: `${url}/crictl.tar.gz`, installPath: "/opt/bin", extract: true }),
    entry("cni", { installPath: "/opt/cni/bin", extract: true }),
    { url: "data:application/json;base64,e30=", hash: "", installPath: "/opt/patches/kube-apiserver+json.json" },
  ];
  const named = { url: `${url}/kubectl`, hash, install_path: "/run/state/bin/kubectl" };
  deepEqual(componentsIn(JSON.stringify([...others, kubeadm, kubelet, named])), {
    components: [
      { path: "/opt/bin/kubeadm", hash, url: `${url}/kubeadm` },
      { path: "/opt/bin/kubelet", hash, url: `${url}/kubelet` },
      { path: "/run/state/bin/kubectl", hash, url: `${url}/kubectl` },
    ],
  });
});

Deno.test("componentsIn: accepts the field names of each Constellation version: Go names, snake case and camel case", () => {
  const [at, path] = [`${url}/kubeadm`, "/run/state/bin/kubeadm"];
  const archive = { URL: `${url}/kubelet`, Hash: hash, InstallPath: "/run/state/bin/kubelet", Extract: true };
  const forms = [
    { URL: at, Hash: hash, InstallPath: path, Extract: false },
    { url: at, hash, install_path: path, extract: false },
    { url: at, hash, installPath: path, extract: false },
  ];
  for (const form of forms) {
    deepEqual(componentsIn(JSON.stringify([form, archive, kubelet])), {
      components: [{ path, hash, url: at }, { path: "/opt/bin/kubelet", hash, url: `${url}/kubelet` }],
    });
  }
});

Deno.test("componentsIn: refuses a list without kubeadm or kubelet, and a malformed hash, path or URL, and quotes no value", () => {
  const wrong: [RegExp, unknown][] = [
    [/not a JSON list/, "["],
    [/not a JSON list/, { kubeadm }],
    [/not a JSON list/, " ".repeat(100_001)],
    [/not a JSON list/, Array(101).fill(kubeadm)],
    [/kubelet is missing/, [kubeadm]],
    [/kubeadm is missing/, [entry("kubeadm", { extract: true }), kubelet]],
    [/kubelet is listed twice/, [kubeadm, kubelet, kubelet]],
    ...["", "sha256:0", hash.toUpperCase(), `${hash}\n`, `sha512:${"a".repeat(128)}`].map((
      hash,
    ): [RegExp, unknown] => [/hash of kubelet/, [kubeadm, entry("kubelet", { hash })]]),
    ...["bin/kubelet", "/kubelet", "/opt/../bin/kubelet", "/a b/bin/kubelet", "/opt/$(x)/bin/kubelet", "/etc/kubelet"]
      .map((
        installPath,
      ): [RegExp, unknown] => [/installPath of kubelet/, [kubeadm, entry("kubelet", { installPath })]]),
    ...[
      ...["file:///etc/shadow", "https://ada:secret@dl.k8s.io/kubelet", "https://dl.k8s.io/kubelet?token=secret"],
      ...["https://dl.k8s.io/../kubelet", "https://dl.k8s.io/a//kubelet", "https://dl.k8s.io/a b", "--output", ""],
      ...["https://dl.k8s.io/%2e%2e/kubelet", "https://dl.k8s.io/kubelet\n", `https://dl.k8s.io/${"a".repeat(600)}`],
    ].map((url): [RegExp, unknown] => [/URL of kubelet/, [kubeadm, entry("kubelet", { url })]]),
  ];
  for (const [fault, list] of wrong) match(faultIn(list), fault, JSON.stringify(list).slice(0, 200));
  // A fault quotes no value, which may contain a credential.
  for (const [, list] of wrong) notEqual(faultIn(list).includes("secret"), true);
});

Deno.test("upgradeDigestOf: changes with the version, and with each byte of the list", () => {
  notEqual(upgradeDigestOf("v1.36.1", "[]"), upgradeDigestOf("v1.36.2", "[]"));
  notEqual(upgradeDigestOf("v1.36.1", "[]"), upgradeDigestOf("v1.36.1", "[] "));
});
