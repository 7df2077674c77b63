/** The script that renews the certificates of a control plane on its host, with fakes of kubeadm and curl. */
import { deepEqual, equal } from "node:assert/strict";
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const script = fileURLToPath(new URL("../../../../activities/kubernetes/renew_certificates.sh", import.meta.url));
const pem = (text: string): string => `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----\n`;

/** A host; `logs` is the folder below it in which the kubelet has begun the logs of a new pod of the API server. */
interface Host {
  /** The result of curl's check of the API server's certificate, as OpenSSL numbers it. */
  verifyResult?: number;
  /** Exit code of kubeadm. */
  kubeadm?: number;
  certificate?: (pki: string) => string;
  config?: (at: (name: string) => string) => string;
  logs?: string;
  /** The target of folder `logs`, which is a symbolic link then. */
  linked?: string;
  /** Whether a hand of an earlier version runs the script, without the kubelet's configuration. */
  isOld?: boolean;
}

/** Runs the script. Returns the exit code, whether kubeadm ran, and the CA with which curl checked the API server. */
async function renew(
  { verifyResult = 0, kubeadm = 1, certificate, config, logs = "logs", linked, isOld = false }: Host,
): Promise<{ code: number; ran: boolean; signer: string }> {
  const host = await mkdtemp(join(tmpdir(), "ostler-renew-"));
  const at = (name: string): string => join(host, name);
  const program = async (name: string, text: string): Promise<void> => {
    await writeFile(at(name), `#!/bin/sh\n${text}\n`);
    await chmod(at(name), 0o755);
  };
  const text = (name: string): Promise<string> => readFile(at(name), "utf8").catch(() => "");
  const manifest = `apiVersion: v1
kind: Pod
metadata:
  name: kube-apiserver
spec:
  containers:
  - command:
    - kube-apiserver
    - --tls-cert-file=${certificate?.(at("pki")) ?? at("pki/apiserver.crt")}
    livenessProbe:
      httpGet:
        host: 192.0.2.1
        path: /livez
        port: 6443
        scheme: HTTPS
    name: kube-apiserver
`;
  try {
    for (const folder of ["store", "manifests", "pki"]) await mkdir(at(folder));
    await writeFile(at("manifests/kube-apiserver.yaml"), manifest);
    await writeFile(at("pki/ca.crt"), pem("new") + pem("old"));
    await writeFile(at("config.yaml"), config?.(at) ?? "kind: KubeletConfiguration\n");
    if (linked) await symlink(at(linked), at("logs"));
    const pod = join(at(logs), "kube-system_kube-apiserver-cp-1_0123456789abcdef");
    await mkdir(pod, { recursive: true });
    const later = new Date(Date.now() + 3_600_000);
    await utimes(pod, later, later);
    await program("kubeadm", `echo "$*" >${at("ran")}; exit ${kubeadm}`);
    await program(
      "curl",
      `case "$*" in
  *ssl_verify_result*"--capath ${at("store")} "*) said=${verifyResult} ;;
  *ssl_verify_result*) said=0 ;; # the host trusts the CA
  *) said=200 ;;
esac
while [ $# -gt 1 ]; do if [ "$1" = --cacert ]; then cp "$2" ${at("signer")}; fi; shift; done
[ "$1" = https://192.0.2.1:6443/livez ] || exit 2
printf "$said"`,
    );
    const args = [script, ...["kubeadm", "store", "manifests", "logs"].map(at), "1", at("pki")];
    const { code } = await new Deno.Command("/bin/sh", {
      args: isOld ? args : [...args, at("config.yaml")],
      env: { PATH: `${host}:/usr/bin:/bin` },
      stdout: "null",
    }).output();
    const ran = await text("ran") === `certs renew all --cert-dir ${at("pki")}\n`;
    return { code, ran, signer: await text("signer") };
  } finally {
    await rm(host, { recursive: true, force: true });
  }
}

for (const result of [20, 21, 7]) {
  Deno.test(`renew_certificates: renews nothing with another CA than that of the API server (result ${result})`, async () => {
    deepEqual(await renew({ verifyResult: result }), { code: 65, ran: false, signer: pem("new") });
  });
}

for (const result of [0, 1, 10]) {
  Deno.test(`renew_certificates: renews with the CA of the API server, also after the expiry (result ${result})`, async () => {
    deepEqual(await renew({ verifyResult: result }), { code: 63, ran: true, signer: pem("new") });
  });
}

Deno.test("renew_certificates: renews if the API server has a certificate that kubeadm did not make", async () => {
  const { code, ran } = await renew({ verifyResult: 20, certificate: () => "/etc/company/api.crt" });
  deepEqual([code, ran], [63, true]);
});

for (const quote of ["", '"', "'"]) {
  Deno.test(`renew_certificates: finds restarted pods in the kubelet's own folder of logs (quotes: ${quote})`, async () => {
    const config = (at: (name: string) => string): string => `kind: X\npodLogsDir: ${quote}${at("own/pods")}${quote}\n`;
    equal((await renew({ kubeadm: 0, config, logs: "own/pods" })).code, 0);
  });
}

Deno.test("renew_certificates: finds restarted pods in the default folder of logs", async () => {
  equal((await renew({ kubeadm: 0 })).code, 0);
});

Deno.test("renew_certificates: finds restarted pods in a folder of logs that is a symbolic link", async () => {
  equal((await renew({ kubeadm: 0, linked: "disk", logs: "disk" })).code, 0);
});

Deno.test("renew_certificates: renews in the folder that a hand of an earlier version gives, which gives no configuration", async () => {
  deepEqual(await renew({ isOld: true }), { code: 63, ran: true, signer: pem("new") });
  equal((await renew({ isOld: true, kubeadm: 0 })).code, 0);
});
