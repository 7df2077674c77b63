/** The static pods of a control plane in a folder, with a kubelet that starts a pod for each manifest that changed. */
import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** The static pods in the order in which they must be restarted. */
export const parts = ["kube-controller-manager", "kube-scheduler", "etcd", "kube-apiserver"] as const;
type Part = typeof parts[number];

export class FakeStaticPods implements AsyncDisposable {
  readonly #root: string;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #ended = new AbortController();
  #kubelet: Promise<void> = Promise.resolve();
  /** The digest of the manifest with which each static pod runs, by name; "" while the pod is stopped. */
  readonly #runs = new Map<string, string>();
  /** The name of every static pod that was started, in order. */
  readonly begun: string[] = [];
  readonly violations: string[] = [];
  /** The static pods whose probes fail. */
  readonly broken = new Set<string>();
  /** Whether the kubelet is stopped. */
  isStopped = false;

  private constructor(root: string) {
    this.#root = root;
    this.#server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => undefined },
      (request) => this.#answer(new URL(request.url).pathname.split("/")[1] ?? ""),
    );
  }

  /** Writes the manifests as kubeadm does with this folder of certificates, and starts the kubelet. */
  static async begin(
    root: string,
    { without = [], pki = "/etc/kubernetes/pki" }: { without?: readonly Part[]; pki?: string } = {},
  ): Promise<FakeStaticPods> {
    const pods = new FakeStaticPods(root);
    const { port } = pods.#server.addr;
    for (const part of parts.filter((each) => !without.includes(each))) {
      await writeFile(pods.manifest(part), manifestOf(part, { port, pki }), { mode: 0o600 });
    }
    await pods.#look();
    pods.begun.length = 0;
    pods.#kubelet = pods.#run();
    return pods;
  }

  manifest(part: Part): string {
    return join(this.#root, "etc/kubernetes/manifests", `${part}.yaml`);
  }

  /** Starts an ordinary pod of kube-system on the node. */
  async startOther(name: string, uid: string): Promise<void> {
    await mkdir(join(this.#root, "var/log/pods", `kube-system_${name}_${uid}`, "main"), { recursive: true });
  }

  #answer(part: string): Response {
    return this.#runs.get(part) && !this.broken.has(part) ? new Response("ok") : new Response("", { status: 500 });
  }

  async #run(): Promise<void> {
    while (!this.#ended.signal.aborted) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      if (!this.isStopped) await this.#look();
    }
  }

  async #look(): Promise<void> {
    for (const part of parts) {
      const text = await readFile(this.manifest(part), "utf8").catch(() => "");
      const known = this.#runs.get(part);
      if (text === "" && known) this.violations.push(`the manifest of ${part} is missing`);
      const digest = text && createHash("md5").update(text).digest("hex");
      if (digest === "" || digest === known) continue;
      this.#runs.set(part, "");
      const away = parts.filter((each) => this.#runs.get(each) === "");
      if (away.length > 1) this.violations.push(`${away.join(" and ")} are stopped at once`);
      if (known) await new Promise((resolve) => setTimeout(resolve, 100)); // the previous pod ends in this time
      const pod = join(this.#root, "var/log/pods", `kube-system_${part}-cp-1_${digest}`);
      await mkdir(join(pod, part), { recursive: true });
      await writeFile(join(pod, part, "0.log"), "");
      this.#runs.set(part, digest);
      this.begun.push(part);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort();
    await this.#kubelet;
    await this.#server.shutdown();
  }
}

/**
 * Returns a manifest with the fields that Ostler's scripts read, in kubeadm's form; newer versions give the port of the
 * probes a name.
 */
function manifestOf(part: Part, { port, pki }: { port: number; pki: string }): string {
  const isNamed = part === "kube-apiserver";
  const annotation = `    kubeadm.kubernetes.io/${part}.advertise-address.endpoint: 192.0.2.1:6443\n`;
  return `apiVersion: v1
kind: Pod
metadata:
${part === "etcd" || isNamed ? `  annotations:\n${annotation}` : ""}  labels:
    component: ${part}
    tier: control-plane
  name: ${part}
  namespace: kube-system
spec:
  containers:
  - command:
    - ${part}
    - --client-ca-file=${pki}/ca.crt
    image: registry.k8s.io/${part}:v1.36.1
    livenessProbe:
      failureThreshold: 8
      httpGet:
        host: 127.0.0.1
        path: /${part}/livez
        port: ${isNamed ? "probe-port" : port}
        scheme: HTTP
      initialDelaySeconds: 10
    name: ${part}
${
    isNamed
      ? `    ports:\n    - containerPort: ${port}\n      name: probe-port\n      protocol: TCP\n`
      : ""
  }    readinessProbe:
      httpGet:
        path: /never
        port: 1
  hostNetwork: true
status: {}
`;
}
