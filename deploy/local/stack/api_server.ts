import { httpProbe } from "../process/http_probe.ts";
import { startOnFreePorts } from "../process/start_on_free_ports.ts";
import type { ProcessSpec } from "../process/supervised_process.ts";
import type { Foundation } from "./foundation.ts";
import type { ApiServerAddress } from "./kubeconfig_file.ts";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** The API server of a stack. */
export interface ApiServer extends ApiServerAddress {
  readonly port: number;
}

/**
 * Starts kube-apiserver on an etcd and resolves when all checks of its endpoint /readyz have passed, among them the
 * creation of RBAC's default roles.
 */
export async function startApiServer(foundation: Foundation, etcdUrl: string): Promise<ApiServer> {
  const audit = await auditArgs(foundation.directory, foundation.audited);
  const { ports } = await startOnFreePorts(foundation.supervisor, {
    ports: ["secure"],
    spec: ({ secure }) => apiServerSpec(foundation, { etcdUrl, port: secure, audit }),
  }, foundation.signal);
  const caPem = foundation.pki.clusterAuthority.certificatePem;
  return { url: urlOf(foundation, ports.secure), caPem, port: ports.secure };
}

interface Settings {
  readonly etcdUrl: string;
  readonly port: number;
  /** Flags for the audit log. */
  readonly audit: readonly string[];
}

function apiServerSpec(foundation: Foundation, { etcdUrl, port, audit }: Settings): ProcessSpec {
  const { admin, clusterAuthority } = foundation.pki;
  return {
    name: "kube-apiserver",
    command: foundation.tools["kube-apiserver"],
    args: [
      `--bind-address=${foundation.address}`,
      `--advertise-address=${foundation.address}`,
      `--secure-port=${port}`,
      "--service-cluster-ip-range=10.96.0.0/16",
      // The API server refuses a loopback address as endpoint of Service `kubernetes`; pods on machines reach the API
      // server by a NAT rule instead.
      "--endpoint-reconciler-type=none",
      "--allow-privileged=true",
      "--profiling=false",
      ...etcdArgs(foundation, etcdUrl),
      ...authenticationArgs(foundation, urlOf(foundation, port)),
      `--kubelet-client-certificate=${foundation.pki.kubeletClient.certificatePath}`,
      `--kubelet-client-key=${foundation.pki.kubeletClient.keyPath}`,
      `--kubelet-certificate-authority=${clusterAuthority.certificatePath}`,
      // The names of nodes are not in DNS here.
      "--kubelet-preferred-address-types=InternalIP",
      "--authorization-mode=Node,RBAC",
      "--enable-admission-plugins=NodeRestriction",
      ...audit,
      ...(foundation.emulatedVersion === undefined ? [] : [`--emulated-version=${foundation.emulatedVersion}`]),
      ...(foundation.watchSeconds === undefined ? [] : [`--min-request-timeout=${foundation.watchSeconds}`]),
    ],
    ready: httpProbe({
      url: `${urlOf(foundation, port)}/readyz`,
      caPem: clusterAuthority.certificatePem,
      client: admin,
    }),
    readyTimeoutMs: 90_000,
  };
}

function etcdArgs({ pki }: Foundation, etcdUrl: string): string[] {
  return [
    `--etcd-servers=${etcdUrl}`,
    `--etcd-cafile=${pki.etcdAuthority.certificatePath}`,
    `--etcd-certfile=${pki.apiServerEtcdClient.certificatePath}`,
    `--etcd-keyfile=${pki.apiServerEtcdClient.keyPath}`,
  ];
}

function authenticationArgs({ pki }: Foundation, url: string): string[] {
  return [
    `--tls-cert-file=${pki.apiServer.certificatePath}`,
    `--tls-private-key-file=${pki.apiServer.keyPath}`,
    `--client-ca-file=${pki.clusterAuthority.certificatePath}`,
    "--anonymous-auth=false",
    "--enable-bootstrap-token-auth",
    `--service-account-issuer=${url}`,
    `--service-account-key-file=${pki.serviceAccountKeyPath}`,
    `--service-account-signing-key-file=${pki.serviceAccountKeyPath}`,
  ];
}

function urlOf({ address }: Foundation, port: number): string {
  return `https://${address}:${port}`;
}

// The audit log of the API server for booting machines and named users: user, address, path and response status.

/** The groups of machines that do not have certificates of their own yet. */
const bootingMachines = ["system:serviceaccounts:cloud-init-settings", "system:bootstrappers"];

/** Returns the path of the audit log, which has one JSON event of `audit.k8s.io/v1` per line. */
export function auditLogPath(directory: string): string {
  return join(directory, "logs", "audit.log");
}

/** Writes the audit policy for booting machines and these users; returns the flags of kube-apiserver that use it. */
export async function auditArgs(directory: string, users: readonly string[] = []): Promise<string[]> {
  const policyPath = join(directory, "audit-policy.json");
  await mkdir(directory, { recursive: true });
  await writeFile(policyPath, JSON.stringify(policyOf(users)));
  return [`--audit-policy-file=${policyPath}`, `--audit-log-path=${auditLogPath(directory)}`];
}

// Level Metadata omits the bodies of requests and responses, so that no secret gets into the log.
function policyOf(users: readonly string[]): object {
  const level = "Metadata";
  const named = users.length > 0 ? [{ level, users }] : [];
  return {
    ...{ apiVersion: "audit.k8s.io/v1", kind: "Policy", omitStages: ["RequestReceived"] },
    rules: [{ level, userGroups: bootingMachines }, ...named, { level: "None" }],
  };
}
