/** Tests which addresses a pod of a real machine can reach, from its own network namespace. */
import type { ContainerHost } from "../machines/container_host.ts";

/**
 * Result of an attempt to connect: `closed` if the host refuses the connection, `forbidden` if the network rejects it,
 * `silent` after a timeout.
 */
export type Reach = "open" | "closed" | "forbidden" | "silent";

/** Host and port of a server. */
export interface Place {
  host: string;
  port: number;
}

/** A pod, identified by its machine and address. */
export interface Placed {
  node: string;
  address: string | undefined;
}

/** Parses "host:port". */
export function placeOf(text: string): Place {
  const [host = "", port] = text.split(":");
  return { host, port: Number(port) };
}

const said: [RegExp, Reach][] = [
  [/Connection refused/, "closed"],
  [/No route to host|Network is unreachable/, "forbidden"],
];
const seconds = 5;
const noNetwork = 99;

// Uses the machine's shell, because the pod's image may have none.
const attempt = `
for namespace in /run/netns/*; do
  if nsenter --net="$namespace" ip -o -4 address | grep -qF " $1/"; then
    exec nsenter --net="$namespace" timeout ${seconds} bash -c 'exec 3<>"/dev/tcp/$0/$1"' "$2" "$3"
  fi
done
exit ${noNetwork}`;

/**
 * Returns whether a connection can be opened from a pod; throws if the pod has no network or the result is not
 * recognized.
 */
export async function reachFrom(
  host: Pick<ContainerHost, "machine">,
  { node, address }: Placed,
  to: Place,
): Promise<Reach> {
  const machine = await host.machine(node);
  const command = ["bash", "-c", attempt, "reach", address ?? "", to.host, `${to.port}`];
  const { exitCode, stdout, stderr } = await machine.run(command);
  if (exitCode === 0) return "open";
  if (exitCode === 124) return "silent";
  const [, reach] = said.find(([words]) => words.test(stdout + stderr)) ?? [];
  if (reach === undefined) {
    throw new Error(`Failed to test access to "${to.host}" from a pod: exit code ${exitCode}: ${stderr}`);
  }
  return reach;
}
