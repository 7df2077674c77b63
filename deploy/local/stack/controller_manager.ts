import { join } from "node:path";
import { allOf, httpProbe } from "../process/http_probe.ts";
import { startOnFreePorts } from "../process/start_on_free_ports.ts";
import type { ProcessSpec } from "../process/supervised_process.ts";
import type { ApiServer } from "./api_server.ts";
import type { Foundation } from "./foundation.ts";
import { writeKubeconfig } from "./kubeconfig_file.ts";

/** Starts kube-controller-manager and resolves when it is healthy and has created ServiceAccount "default/default". */
export async function startControllerManager(foundation: Foundation, apiServer: ApiServer): Promise<void> {
  const { certificatePem, keyPem } = foundation.pki.controllerManager;
  const kubeconfig = await writeKubeconfig(join(foundation.directory, "kubeconfigs", "kube-controller-manager.yaml"), {
    apiServer,
    userName: "system:kube-controller-manager",
    credentials: { certificatePem, keyPem },
  });
  await startOnFreePorts(foundation.supervisor, {
    ports: ["secure"],
    spec: ({ secure }) => controllerManagerSpec(foundation, { apiServer, kubeconfig, port: secure }),
  }, foundation.signal);
}

interface Settings {
  readonly apiServer: ApiServer;
  readonly kubeconfig: string;
  readonly port: number;
}

function controllerManagerSpec(foundation: Foundation, settings: Settings): ProcessSpec {
  const { pki, directory, podNetwork } = foundation;
  return {
    name: "kube-controller-manager",
    command: foundation.tools["kube-controller-manager"],
    args: [
      `--kubeconfig=${settings.kubeconfig}`,
      "--bind-address=127.0.0.1",
      `--secure-port=${settings.port}`,
      `--tls-cert-file=${pki.controllerManagerServer.certificatePath}`,
      `--tls-private-key-file=${pki.controllerManagerServer.keyPath}`,
      "--leader-elect=false",
      // With the default limit of requests per second, the token requests of all controllers at the start take five
      // seconds.
      "--kube-api-qps=200",
      "--kube-api-burst=400",
      "--profiling=false",
      "--use-service-account-credentials=true",
      "--controllers=*,bootstrap-signer-controller,token-cleaner-controller",
      `--root-ca-file=${pki.clusterAuthority.certificatePath}`,
      `--service-account-private-key-file=${pki.serviceAccountKeyPath}`,
      `--cluster-signing-cert-file=${pki.clusterAuthority.certificatePath}`,
      `--cluster-signing-key-file=${pki.clusterAuthority.keyPath}`,
      // The default is a system folder, which the process would try to create.
      `--flex-volume-plugin-dir=${join(directory, "volume-plugins")}`,
      ...(podNetwork === undefined ? [] : ["--allocate-node-cidrs", `--cluster-cidr=${podNetwork}`]),
      "--node-monitor-period=2s",
      "--node-monitor-grace-period=20s",
      "--node-startup-grace-period=30s",
    ],
    ready: readyProbe(foundation, settings),
  };
}

function readyProbe({ pki }: Foundation, { apiServer, port }: Settings): ProcessSpec["ready"] {
  const caPem = pki.clusterAuthority.certificatePem;
  return allOf(
    httpProbe({ url: `https://127.0.0.1:${port}/healthz`, caPem }),
    // kube-controller-manager is healthy before its controllers run, so it counts as ready only when this
    // ServiceAccount exists: without the account, no pod can be created.
    httpProbe({
      url: `${apiServer.url}/api/v1/namespaces/default/serviceaccounts/default`,
      caPem,
      client: pki.admin,
    }),
  );
}
