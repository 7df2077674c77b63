/** The actual settings of kubelet and containerd. */
import { loadYaml, type V1Pod } from "@kubernetes/client-node";
import assert from "node:assert/strict";
import process from "node:process";
import { runCommand } from "../../deploy/local/tools/run_command.ts";
import { askedOfKubelet, type Booted, nodeTaint } from "./boot_pools.ts";
import { output } from "./machine_facts.ts";
import { shownFiles } from "./published_boot.ts";

type Settings = Record<string, unknown>;

const pods = "/api/v1/namespaces/default/pods";

/** The settings of the running kubelet, through the API server. */
async function configOfKubelet({ world, name }: Booted): Promise<Settings> {
  const answer = await world.get<{ kubeletconfig: Settings }>(`/api/v1/nodes/${name}/proxy/configz`);
  assert.ok(answer, `Node "${name}" does not report its kubelet's settings`);
  return answer.kubeletconfig;
}

/** Expects every setting of the published kubelet.conf in the running kubelet. */
export async function checkKubeletConfig(booted: Booted): Promise<void> {
  const files = await shownFiles(booted.world, booted.pool, "provisioning");
  const text = files.find(({ path }) => path === "/etc/kubernetes/kubelet.conf")?.content.inline.data ?? "";
  // Go omits values that are 0.
  const { readOnlyPort, ...published } = loadYaml<Settings>(text);
  assert.equal(readOnlyPort, 0);
  assert.ok(Object.keys(published).length > 20, "Expected more settings in kubelet.conf");
  const running = await configOfKubelet(booted);
  assert.equal(running.readOnlyPort, undefined);
  assert.deepEqual(Object.fromEntries(Object.keys(published).map((key) => [key, running[key]])), published);
}

/** Expects the settings of the pool's annotations in the running kubelet, and in the capacity of the node. */
export async function checkAskedOfKubelet(booted: Booted): Promise<void> {
  const running = await configOfKubelet(booted);
  const asked = {
    maxPods: 42,
    systemReserved: { cpu: "150m", memory: "100Mi", "ephemeral-storage": "500Mi" },
    kubeReserved: { cpu: "120m", memory: "110Mi" },
    evictionHard: { "memory.available": "90Mi", "nodefs.available": "1%", "imagefs.available": "2%" },
    containerLogMaxSize: "30Mi",
    containerLogMaxFiles: 3,
    imageGCHighThresholdPercent: 98,
    imageGCLowThresholdPercent: 97,
    imageMinimumGCAge: "3m30s",
    imageMaximumGCAge: "36h0m0s",
  };
  assert.equal(Object.keys(asked).length, Object.keys(askedOfKubelet).length);
  assert.deepEqual(Object.fromEntries(Object.keys(asked).map((key) => [key, running[key]])), asked);
  const node = await booted.world.get<{ status: { capacity: Settings } }>(`/api/v1/nodes/${booted.name}`);
  assert.equal(node?.status.capacity.pods, "42");
}

/** Expects that a new pod runs, answers HTTP, and writes its log; its sandbox has the configured pause image. */
export async function checkPods(booted: Booted): Promise<V1Pod> {
  const { world, host, name, machine } = booted;
  await world.create(pods, podOn(booted, host.mirror.images.podServer));
  const pod = await world.until("the pod is ready", async () => {
    const seen = await world.get<V1Pod>(`${pods}/${name}`);
    return seen?.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") && seen;
  });
  const url = `http://${pod.status?.podIP}:8080/`;
  assert.equal((await output(machine, ["curl", "--silent", "--fail", "--max-time", "10", url])).trim(), name);
  const log = await kubectl(booted, ["logs", name]);
  assert.match(log, /Serving on :8080/);
  await checkRuntime(booted);
  return pod;
}

/** Expects crictl to reach containerd, and the sandboxes to have the configured image. */
async function checkRuntime({ host, name, machine }: Booted): Promise<void> {
  const ask = async <T>(...command: string[]): Promise<T> => JSON.parse(await output(machine, ["crictl", ...command]));
  const { status } = await ask<{ status: { conditions: { type: string; status: boolean }[] } }>("info");
  const ready = status.conditions.filter(({ status }) => status).map(({ type }) => type);
  assert.deepEqual(ready.filter((type) => type.endsWith("Ready")), ["RuntimeReady", "NetworkReady"]);
  const { items: [sandbox] } = await ask<{ items: { id: string }[] }>("pods", "--name", name, "--output", "json");
  const { info } = await ask<{ info: { image: string } }>("inspectp", sandbox?.id ?? "");
  assert.equal(info.image, host.mirror.images.pause);
}

function podOn({ name }: Booted, image: string): object {
  const { key, value, effect } = nodeTaint;
  return {
    metadata: { name },
    spec: {
      nodeSelector: { "kubernetes.io/hostname": name },
      tolerations: [{ key, operator: "Equal", value, effect }],
      containers: [{
        ...{ name: "server", image },
        readinessProbe: { httpGet: { path: "/ready", port: 8080 }, periodSeconds: 1 },
      }],
    },
  };
}

/** Standard output of kubectl. */
async function kubectl({ world }: Booted, args: string[]): Promise<string> {
  const { code, stdout, lines } = await runCommand({
    program: world.tools.kubectl,
    args: ["--kubeconfig", world.site.stack.adminKubeconfig, ...args],
    // kubectl writes its cache below HOME, which is deleted with the site.
    env: { PATH: process.env.PATH ?? "", HOME: world.site.stack.directory },
  });
  assert.equal(code, 0, lines.join("\n"));
  return stdout;
}
