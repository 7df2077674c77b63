import { readFile } from "node:fs/promises";
import { httpProbe } from "../process/http_probe.ts";
import { startOnFreePorts } from "../process/start_on_free_ports.ts";
import type { ProcessSpec, SupervisedProcess } from "../process/supervised_process.ts";
import type { Stack } from "./stack.ts";

/** A running machine-controller. */
interface MachineController {
  readonly process: SupervisedProcess;
  readonly metricsUrl: string;
}

type Ports = Readonly<Record<"health" | "metrics", number>>;

/**
 * Starts machine-controller with the identity and the cluster of a kubeconfig; the same cluster is its KubeVirt cloud.
 * The CRDs of machine-controller and namespace "cloud-init-settings" must exist. Resolves when its readiness check
 * passes, which is about 15 s before it starts to reconcile.
 */
export async function startMachineController(
  stack: Pick<Stack, "tools" | "processes">,
  kubeconfigPath: string,
  signal?: AbortSignal,
): Promise<MachineController> {
  const command = stack.tools["machine-controller"];
  if (command === undefined) {
    throw new Error('Failed to start "machine-controller": the tools of the stack do not include its path');
  }
  const kubeconfig = { path: kubeconfigPath, text: await readFile(kubeconfigPath, "utf8") };
  const { process, ports } = await startOnFreePorts(stack.processes, {
    ports: ["health", "metrics"],
    spec: (ports: Ports) => machineControllerSpec(command, kubeconfig, ports),
  }, signal);
  return { process, metricsUrl: `http://127.0.0.1:${ports.metrics}/metrics` };
}

function machineControllerSpec(command: string, kubeconfig: { path: string; text: string }, ports: Ports): ProcessSpec {
  return {
    name: "machine-controller",
    command,
    args: [
      "-kubeconfig",
      kubeconfig.path,
      "-enable-leader-election=false",
      "-worker-count",
      "10",
      "-health-probe-address",
      `127.0.0.1:${ports.health}`,
      "-metrics-address",
      `127.0.0.1:${ports.metrics}`,
    ],
    env: { KUBEVIRT_KUBECONFIG: kubeconfig.text, POD_NAMESPACE: "kube-system" },
    ready: httpProbe({ url: `http://127.0.0.1:${ports.health}/readyz` }),
  };
}
