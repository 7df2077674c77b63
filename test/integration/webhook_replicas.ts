/** Webhooks that run in this process, with their own identity, behind one address as behind a Service. */
import { readFile } from "node:fs/promises";
import { connect, createServer, type Server } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePorts } from "../../deploy/local/process/free_ports.ts";
import { applyObjects, parseManifests } from "../../deploy/local/stack/manifests.ts";
import { kubeconfigFor } from "../../deploy/local/stack/service_account_kubeconfig.ts";
import { readConfig } from "../../workers/config.ts";
import { runWebhook } from "../../workers/webhook.ts";
import type { BareApi } from "./bare_api.ts";

const kubernetes = fileURLToPath(new URL("../../deploy/kubernetes/", import.meta.url));

/** Intervals of the webhooks in milliseconds, in place of the minutes in production. */
const times = { rest: { soon: 100, usual: 300 }, overlap: 2_000, lameDuck: 100 };

/** Several webhooks behind one address; each connection to the address is given to the next webhook. */
export class Replicas {
  readonly #running: { stop: AbortController; ended: Promise<void> }[] = [];
  readonly #ports: number[] = [];

  private constructor(private readonly door: Server, private readonly kubeconfig: string, readonly url: string) {}

  static async open({ apiServer, kubeconfig, directory }: BareApi): Promise<Replicas> {
    for (const file of ["admission/limit_secrets.yaml", "webhook/rbac.yaml", "webhook/holding.yaml"]) {
      const path = join(kubernetes, file);
      await applyObjects(kubeconfig, parseManifests(await readFile(path, "utf8"), path));
    }
    const account = { serviceAccount: "ostler-webhook", namespace: "ostler-system" };
    const own = await kubeconfigFor({ directory, apiServer, adminKubeconfig: kubeconfig }, account);
    const [port = 0] = await freePorts(1);
    let turn = 0;
    const door = createServer((incoming) => {
      const target = replicas.#ports[turn++ % replicas.#ports.length];
      if (target === undefined) return incoming.destroy();
      const outgoing = connect(target, "127.0.0.1");
      for (const socket of [incoming, outgoing]) socket.on("error", () => {});
      incoming.pipe(outgoing).pipe(incoming);
      incoming.on("close", () => outgoing.destroy());
      outgoing.on("close", () => incoming.destroy());
    });
    await new Promise<void>((resolve) => door.listen(port, "127.0.0.1", () => resolve()));
    const replicas = new Replicas(door, own, `https://127.0.0.1:${port}`);
    return replicas;
  }

  /** Starts another webhook. */
  async start(): Promise<void> {
    const [port = 0] = await freePorts(1);
    const config = readConfig({}, [
      ...[`--kubeconfig=${this.kubeconfig}`, `--webhook-address=127.0.0.1:${port}`, `--webhook-endpoint=${this.url}`],
      ...["--health-probe-address=127.0.0.1:0", "--cert-dir=/nowhere", "--log-level=ERROR"],
    ]);
    const stop = new AbortController();
    this.#running.push({ stop, ended: runWebhook(config, stop.signal, { times }) });
    this.#ports.push(port);
  }

  /** Stops all webhooks; the address still accepts connections, and closes each of them immediately. */
  async stop(): Promise<void> {
    this.#ports.length = 0;
    for (const { stop } of this.#running) stop.abort();
    await Promise.all(this.#running.splice(0).map(({ ended }) => ended));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    this.door.close();
  }
}
