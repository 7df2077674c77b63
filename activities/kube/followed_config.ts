/**
 * A kubeconfig file that may change under a process, as that of a mounted Secret does: CA, token and client certificate. Who
 * asks for the current cluster or user gets what the file says now. Files are looked at, not watched: what kubelet mounts
 * are links, which it exchanges as a whole. Another API server is taken by a restart alone, before which it is asked which
 * cluster it is of: what is not found in another cluster must not be taken for gone.
 */
import { KubeConfig } from "./client_node.ts";

/** Milliseconds between looks while somebody asks; kubelet itself takes up to two minutes to bring a change. */
const lookEveryMs = 5_000;

/** Told once of each trouble, and of each file that was taken. */
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
  /** As it was read: signing in may write to what was taken. */
  #content = "";

  /** Throws where the file cannot be used. */
  constructor(path: string, told?: FileTold) {
    super();
    this.#path = path;
    this.#told = told;
    this.#take(contentOf(path));
    this.#lookedAt = performance.now();
  }

  /** Grows with each change that was taken; looks at the file where that is due. */
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
      `Failed to reload kubeconfig "${this.#path}": it now names API server "${asked}"; restart the process`,
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

/** Without a word of what it holds: that may be a token. */
function contentOf(path: string): KubeConfig {
  const config = new KubeConfig();
  try {
    config.loadFromFile(path);
  } catch (error) {
    throw new Error(
      `Failed to read kubeconfig "${path}": ${(error as { code?: string }).code ?? "it is not a kubeconfig"}`,
    );
  }
  if (!config.getCurrentCluster()?.server || !config.getCurrentUser()) {
    throw new Error(`Failed to read kubeconfig "${path}": it names no current cluster and user`);
  }
  return config;
}
