/**
 * A kubeconfig file of which CA, token and client certificate may change while a process runs, as in a mounted Secret.
 * Callers get the file's current cluster and user. The file is polled, not watched, because kubelet mounts a symbolic
 * link and replaces the link. A change to another API server takes effect only at a restart, at which the process
 * checks the identity of the cluster: objects that are absent from another cluster must not count as deleted.
 */
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { z } from "zod";
import { KubeConfig, loadYaml } from "./client_node.ts";

/** Milliseconds between checks while there are callers; kubelet itself takes up to two minutes to deliver a change. */
const lookEveryMs = 5_000;

/** `warn` is called once for each new failure, and `info` once for each reload and once when a failure has ended. */
export interface FileTold {
  warn(message: string): void;
  info(message: string): void;
}

export class FollowedConfig extends KubeConfig {
  readonly #path: string;
  readonly #told: FileTold | undefined;
  #lookedAt = 0;
  #revision = 0;
  #said = "";
  /** The file's content as JSON, to detect a change; authentication may modify the loaded config. */
  #content = "";

  /** Throws if the file cannot be used. */
  constructor(path: string, told?: FileTold) {
    super();
    this.#path = path;
    this.#told = told;
    this.#take(contentOf(path));
    this.#lookedAt = performance.now();
  }

  /**
   * Returns a number that grows with each reload of the file; first reads the file if a check is due, or with `atOnce`.
   */
  revision({ atOnce = false }: { atOnce?: boolean } = {}): number {
    const now = performance.now();
    if (atOnce || now - this.#lookedAt >= lookEveryMs) {
      this.#lookedAt = now;
      this.#look();
    }
    return this.#revision;
  }

  override getCurrentCluster(): ReturnType<KubeConfig["getCurrentCluster"]> {
    this.revision();
    return super.getCurrentCluster();
  }

  override getCurrentUser(): ReturnType<KubeConfig["getCurrentUser"]> {
    this.revision();
    return super.getCurrentUser();
  }

  #look(): void {
    try {
      const next = contentOf(this.#path);
      const isNew = JSON.stringify(partsOf(next)) !== this.#content;
      if (isNew) {
        this.#refuseOther(next);
        this.#take(next);
        this.#revision += 1;
      }
      if (isNew || this.#said !== "") this.#told?.info(`Reloaded kubeconfig "${this.#path}"`);
      this.#said = "";
    } catch (error) {
      const { message } = error as Error;
      if (message !== this.#said) this.#told?.warn(`${message}; keeping the previous kubeconfig`);
      this.#said = message;
    }
  }

  #refuseOther(next: KubeConfig): void {
    const [now, asked] = [super.getCurrentCluster()?.server, next.getCurrentCluster()?.server];
    if (now === asked) return;
    throw new Error(
      `Failed to reload kubeconfig "${this.#path}": it now names API server "${asked}", which requires a restart`,
    );
  }

  #take(next: KubeConfig): void {
    this.#content = JSON.stringify(partsOf(next));
    this.loadFromOptions(partsOf(next));
  }
}

interface Parts {
  clusters: KubeConfig["clusters"];
  users: KubeConfig["users"];
  contexts: KubeConfig["contexts"];
  currentContext: string;
}

function partsOf({ clusters, users, contexts, currentContext }: KubeConfig): Parts {
  return { clusters, users, contexts, currentContext };
}

/** Reads the file; an error quotes nothing of the content, which may contain a token. */
function contentOf(path: string): KubeConfig {
  const config = new KubeConfig();
  try {
    config.loadFromFile(path);
    readToken(config, path);
  } catch (error) {
    throw new Error(
      `Failed to read kubeconfig "${path}": ${(error as { code?: string }).code ?? "it is not a kubeconfig"}`,
    );
  }
  if (!config.getCurrentCluster()?.server || !config.getCurrentUser()) {
    throw new Error(`Failed to read kubeconfig "${path}": it does not name a current cluster and user`);
  }
  return config;
}

const UserEntry = z.object({ name: z.string(), user: z.object({ tokenFile: z.string().optional() }) });
/** The users of a kubeconfig; the client library itself refuses what is invalid. */
const Users = z.object({ users: z.array(UserEntry.nullable().catch(null)).catch([]) }).catch({ users: [] });

/**
 * Reads the token of the current user if it has a `tokenFile`, a key of kubeconfigs that the client library does not
 * know. Files of other users are not read, because they may be absent.
 */
function readToken(config: KubeConfig, path: string): void {
  const current = config.getCurrentUser()?.name;
  const { users } = Users.parse(loadYaml(readFileSync(path, "utf8")));
  const file = users.find((entry) => entry?.name === current)?.user.tokenFile;
  if (!file) return;
  const token = readFileSync(resolve(dirname(path), file), "utf8").trim();
  config.users = config.users.map((user) => user.name === current ? { ...user, token } : user);
}
