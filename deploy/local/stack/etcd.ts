import { join } from "node:path";
import { httpProbe } from "../process/http_probe.ts";
import { startOnFreePorts } from "../process/start_on_free_ports.ts";
import type { ProcessSpec } from "../process/supervised_process.ts";
import type { Foundation } from "./foundation.ts";

/** Starts etcd and resolves with its client URL once it has elected itself. */
export async function startEtcd(foundation: Foundation): Promise<string> {
  const { ports } = await startOnFreePorts(foundation.supervisor, {
    ports: ["client", "peer"],
    spec: (ports) => etcdSpec(foundation, ports),
  }, foundation.signal);
  return clientUrl(ports.client);
}

function etcdSpec(foundation: Foundation, ports: { client: number; peer: number }): ProcessSpec {
  const { etcd, etcdAuthority, apiServerEtcdClient } = foundation.pki;
  const client = clientUrl(ports.client);
  const peer = `https://127.0.0.1:${ports.peer}`;
  return {
    name: "etcd",
    command: foundation.tools.etcd,
    args: [
      "--name=ostler",
      `--data-dir=${join(foundation.directory, "etcd", `peer-${ports.peer}`)}`,
      `--listen-client-urls=${client}`,
      `--advertise-client-urls=${client}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=ostler=${peer}`,
      "--client-cert-auth",
      `--trusted-ca-file=${etcdAuthority.certificatePath}`,
      `--cert-file=${etcd.certificatePath}`,
      `--key-file=${etcd.keyPath}`,
      "--peer-client-cert-auth",
      `--peer-trusted-ca-file=${etcdAuthority.certificatePath}`,
      `--peer-cert-file=${etcd.certificatePath}`,
      `--peer-key-file=${etcd.keyPath}`,
      // A killed process loses nothing by it, only a machine that loses power does, and then the stack is gone anyway.
      "--unsafe-no-fsync",
      "--log-level=warn",
    ],
    ready: httpProbe({ url: `${client}/health`, caPem: etcdAuthority.certificatePem, client: apiServerEtcdClient }),
    readyTimeoutMs: 30_000,
  };
}

function clientUrl(port: number): string {
  return `https://127.0.0.1:${port}`;
}
