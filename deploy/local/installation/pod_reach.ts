/** What a pod of a real machine reaches, tried from within its own network. */
import type { ContainerHost } from "../machines/container_host.ts";

/** `forbidden` is said by the network itself, `closed` by whoever has the address. */
export type Reach = "open" | "closed" | "forbidden" | "silent";

/** An address and a port of it. */
export interface Place {
  host: string;
  port: number;
}

/** A pod by its machine and its address there. */
export interface Placed {
  node: string;
  address: string | undefined;
}

/** Reads "host:port". */
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

// The pod's own files may have no shell: the machine's is taken.
const attempt = `
for namespace in /run/netns/*; do
  if nsenter --net="$namespace" ip -o -4 address | grep -qF " $1/"; then
    exec nsenter --net="$namespace" timeout ${seconds} bash -c 'exec 3<>"/dev/tcp/$0/$1"' "$2" "$3"
  fi
done
exit ${noNetwork}`;

/** Whether a connection can be opened from a pod; throws where the pod has no network, or an answer is not understood. */
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
  if (reach === undefined) throw new Error(`Cannot try "${to.host}" from a pod: it ended with ${exitCode}: ${stderr}`);
  return reach;
}
