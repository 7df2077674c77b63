/** Routes from this host to the pods of real machines, like the routes that a cloud's route controller adds. */
import type { V1Node } from "@kubernetes/client-node";
import process from "node:process";
import { follow } from "../../../deploy/local/cloud/follow.ts";
import type { Connection } from "../../../deploy/local/cloud/kube.ts";
import { definedVariables, findOnPath } from "../../../deploy/local/tools/environment.ts";
import { runCommand } from "../../../deploy/local/tools/run_command.ts";

/** Returns why this process cannot add routes; undefined when it can. */
export async function noRoutesBecause(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return "routes to pods need root";
  const [ip] = await findOnPath("ip", process.env);
  return ip === undefined ? 'routes to pods need the program "ip"' : undefined;
}

/** Keeps a route on this host to the pod addresses of each node, as long as the node exists. */
export class PodRoutes {
  readonly #stopping = new AbortController();
  readonly #routes = new Map<string, string>();
  readonly #faults: unknown[] = [];
  #work: Promise<void> = Promise.resolve();

  /** Adds routes from now on until `close`. */
  static async open(connection: Connection): Promise<PodRoutes> {
    const routes = new PodRoutes();
    await follow<V1Node>({
      connection,
      path: "/api/v1/nodes",
      list: () => connection.core.listNode(),
      changed: (node) => routes.#then(() => routes.#lay(node)),
      gone: (node) => routes.#then(() => routes.#remove(node.metadata?.name ?? "")),
      log: () => {},
      signal: routes.#stopping.signal,
    });
    return routes;
  }

  /** Whether the route to a node's pods exists. */
  has(node: string): boolean {
    return this.#routes.has(node);
  }

  /** Removes all its routes; rejects with the first error of adding or removing a route. */
  async close(): Promise<void> {
    this.#stopping.abort();
    for (const name of [...this.#routes.keys()]) this.#then(() => this.#remove(name));
    await this.#work;
    if (this.#faults.length > 0) throw this.#faults[0];
  }

  // Changes routes one after the other, because the next node may get the address range of a deleted node.
  #then(step: () => Promise<void>): void {
    this.#work = this.#work.then(step).catch((error: unknown) => void this.#faults.push(error));
  }

  async #lay({ metadata, spec, status }: V1Node): Promise<void> {
    const name = metadata?.name ?? "";
    const address = status?.addresses?.find(({ type }) => type === "InternalIP")?.address;
    if (this.#routes.has(name) || !spec?.podCIDR || !address || this.#stopping.signal.aborted) return;
    const route = `${spec.podCIDR} via ${address}`;
    // Adds the route and never replaces one, because an existing route with another target belongs to another program.
    await ip(`route add ${route}`);
    this.#routes.set(name, route);
  }

  async #remove(name: string): Promise<void> {
    const route = this.#routes.get(name);
    if (route === undefined) return;
    this.#routes.delete(name);
    await ip(`route delete ${route}`);
  }
}

async function ip(line: string): Promise<void> {
  const { code, lines } = await runCommand({
    program: "ip",
    args: line.split(" "),
    env: definedVariables(process.env),
  });
  if (code !== 0) throw new Error(`Failed to run "ip ${line}": it ended with ${code}: "${lines.join("; ")}"`);
}
