/** Ostler as in production: a release of the chart, whose pods run on machines of their own pool. */
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { ContainerHost } from "../machines/container_host.ts";
import type { Site } from "../site/site.ts";
import { ApiConnection } from "../stack/api_connection.ts";
import { applyObjects } from "../stack/manifests.ts";
import { definedVariables } from "../tools/environment.ts";
import { runCommand } from "../tools/run_command.ts";
import { accessSecrets } from "./access_secrets.ts";
import { NoticeReceiver } from "./notice_receiver.ts";
import { namespace, OstlerPods } from "./ostler_pods.ts";
import { type Place, type Placed, type Reach, reachFrom } from "./pod_reach.ts";
import { installCommands } from "./install_commands.ts";
import { type Access, TemporalFront } from "./temporal_front.ts";
import { doorName } from "./tls_door.ts";
import { metricsPort, valuesOf } from "./values.ts";

interface InstallationOptions {
  site: Site;
  host: ContainerHost;
  /** Paths of helm and kubectl. */
  tools: { helm: string; kubectl: string };
  signal: AbortSignal;
}

interface Parts {
  api: ApiConnection;
  temporal: TemporalFront;
  notices: NoticeReceiver;
}

const root = fileURLToPath(new URL("../../../", import.meta.url));

export class Installation implements AsyncDisposable {
  readonly pods: OstlerPods;
  readonly temporal: TemporalFront;
  readonly notices: NoticeReceiver;

  private constructor(private readonly options: InstallationOptions, private readonly parts: Parts) {
    this.pods = new OstlerPods(parts.api);
    this.temporal = parts.temporal;
    this.notices = parts.notices;
  }

  /**
   * Prepares what pods need on this host: access to the API server, to Temporal and to the receiver of notifications.
   */
  static async open(options: InstallationOptions): Promise<Installation> {
    const { site: { stack }, host, tools } = options;
    host.serveApi(stack.apiServer.port);
    await host.enforcePolicies(await readFile(stack.adminKubeconfig, "utf8"));
    await using parts = new AsyncDisposableStack();
    const api = parts.use(await ApiConnection.open(stack.adminKubeconfig));
    const temporal = parts.use(await TemporalFront.open(host.address, stack.temporal.address));
    const notices = parts.use(await NoticeReceiver.open(host.address));
    const installation = new Installation(options, { api, temporal, notices });
    await mkdir(installation.#place("bin"), { recursive: true });
    for (const [name, path] of Object.entries({ ...tools, deno: process.execPath })) {
      await symlink(path, installation.#place("bin", name));
    }
    parts.move(); // from now on, `installation` owns and closes the parts
    return installation;
  }

  /** Returns host and port of the registry from which machines pull. */
  get registry(): string {
    return new URL(this.options.host.mirror.url).host;
  }

  /** Installs Ostler with the commands of docs/how-to/install.md; returns the output of the last command. */
  async install(): Promise<string> {
    const { site: { stack }, host } = this.options;
    const access = await this.temporal.firstAccess();
    await this.give(access);
    await this.#writeFiles(access);
    const values = valuesOf({ host, apiPort: stack.apiServer.port, noticePort: this.notices.port });
    await writeFile(this.#place("values.json"), JSON.stringify(values));
    const places = { temporal: this.temporal.address, registry: this.registry };
    const { setup, install, look } = await installCommands(places);
    await this.run(setup);
    // Helm needs --take-ownership, because the cluster already has the objects of the chart: they were applied as plain
    // manifests at its start.
    await this.run(`${install} --take-ownership --wait --timeout=6m --values=${this.#place("values.json")}`);
    return await this.run(look);
  }

  /** Updates Ostler to another version, and waits until its pods are Ready. */
  async upgrade(tag: string): Promise<void> {
    const flags = `--reset-then-reuse-values --set image.tag=${tag} --wait --timeout=6m`;
    await this.run(`helm upgrade ostler deploy/chart -n ostler-system ${flags}`);
  }

  /** Updates the Secrets, which kubelets propagate to pods within two minutes. */
  async give(access: Access): Promise<void> {
    await applyObjects(this.options.site.stack.adminKubeconfig, accessSecrets(access, this.notices.url));
  }

  /** Returns the metrics of a pod, scraped from its node. */
  async scrape({ node, address }: { node: string; address: string | undefined }): Promise<string> {
    const machine = await this.options.host.machine(node);
    const url = `http://${address}:${metricsPort}/metrics`;
    const { exitCode, stdout, stderr } = await machine.run(["curl", "-sS", "--fail", "--max-time", "5", url]);
    if (exitCode !== 0) throw new Error(`Failed to scrape "${url}" on machine "${node}": ${stderr.trim()}`);
    return stdout;
  }

  /** Returns for each address, in the given order, whether a pod can reach it. */
  async reach(pod: Placed, places: readonly Place[]): Promise<Reach[]> {
    const reaches: Reach[] = [];
    for (const place of places) reaches.push(await reachFrom(this.options.host, pod, place));
    return reaches;
  }

  /** Returns whether the log of a pod contains a text. */
  async hasSaid(pod: string, text: string): Promise<boolean> {
    return (await this.run(`kubectl -n ${namespace} logs ${pod}`)).includes(text);
  }

  /** Runs a shell command as administrator; rejects with its output if it fails. */
  async run(command: string): Promise<string> {
    const { signal } = this.options;
    const order = { program: "/bin/sh", args: ["-c", command], cwd: root, env: this.#environment(), signal };
    const { code, stdout, lines } = await runCommand(order);
    if (code !== 0) throw new Error(`Failed to run "${command}": exit code ${code}: ${[stdout, ...lines].join("; ")}`);
    return stdout;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    using _api = this.parts.api;
    await using _temporal = this.temporal;
    await this.notices[Symbol.asyncDispose]();
  }

  async #writeFiles({ caPem, certificatePem, keyPem }: Access): Promise<void> {
    const files = { "ca.crt": caPem, "tls.crt": certificatePem, "tls.key": keyPem };
    for (const [name, text] of Object.entries(files)) await writeFile(this.#place(name), text, { mode: 0o600 });
  }

  #environment(): Record<string, string> {
    const { stack } = this.options.site;
    return {
      ...definedVariables(process.env),
      PATH: `${this.#place("bin")}:${process.env["PATH"]}`,
      KUBECONFIG: stack.adminKubeconfig,
      KUBECACHEDIR: this.#place("cache"),
      TEMPORAL_CONFIG_FILE: "/dev/null",
      TEMPORAL_TLS_SERVER_NAME: doorName,
      TEMPORAL_TLS_SERVER_CA_CERT_PATH: this.#place("ca.crt"),
      TEMPORAL_TLS_CLIENT_CERT_PATH: this.#place("tls.crt"),
      TEMPORAL_TLS_CLIENT_KEY_PATH: this.#place("tls.key"),
    };
  }

  #place(...names: string[]): string {
    return join(this.options.site.stack.directory, "installation", ...names);
  }
}
