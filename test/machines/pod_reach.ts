/** What a pod of a real machine reaches, tried from within its own network. */
import type { V1Pod } from "@kubernetes/client-node";
import type { ContainerHost } from "../../deploy/local/machines/container_host.ts";

/** `forbidden` is said by the network itself, `closed` by whoever has the address. */
export type Reach = "open" | "closed" | "forbidden" | "silent";

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
  host: ContainerHost,
  { status, spec }: V1Pod,
  to: { host: string; port: number },
): Promise<Reach> {
  const machine = await host.machine(spec?.nodeName ?? "");
  const command = ["bash", "-c", attempt, "reach", status?.podIP ?? "", to.host, `${to.port}`];
  const { exitCode, stdout, stderr } = await machine.run(command);
  if (exitCode === 0) return "open";
  if (exitCode === 124) return "silent";
  const [, reach] = said.find(([words]) => words.test(stdout + stderr)) ?? [];
  if (reach === undefined) throw new Error(`Cannot try "${to.host}" from a pod: it ended with ${exitCode}: ${stderr}`);
  return reach;
}
