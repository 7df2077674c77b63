/** The nodes of the pool, and their ostree commits. */
import type { ContainerHost } from "../../../machines/container_host.ts";
import { type Build, ostreeRemote, remoteRepository } from "../../../machines/ostree/ostree_image.ts";
import type { StoryScene } from "../story.ts";
import type { BootedNode } from "./boot_watch.ts";

/** References to the commits in the ostree remote of the machines, by the letter of the build. */
export type Commits = Readonly<Record<Build, string>>;

/** The OS image that the kubelet of a node reports, by the commit that the node booted. */
export const systems = { a: "Debian GNU/Linux 12 (bookworm)", b: "Debian GNU/Linux 12, b" } as const;

export async function nodesOf({ cluster }: StoryScene): Promise<BootedNode[]> {
  return await cluster.list<BootedNode>("/api/v1/nodes");
}

/** Returns the commits, which are read on one machine because all machines have the same remote. */
export async function commitsOn(scene: StoryScene): Promise<Commits> {
  const [node] = await nodesOf(scene);
  return await commitsOf(hostOf(scene), node?.metadata.name ?? "");
}

/** Returns the commits in the ostree remote of a machine. */
export async function commitsOf(host: ContainerHost, node: string): Promise<Commits> {
  const machine = await host.machine(node);
  const script = 'for build in a b c; do ostree --repo="$1" rev-parse "os/$build" || exit; done';
  const { exitCode, stdout, stderr } = await machine.run(["sh", "-c", script, "commits", remoteRepository]);
  if (exitCode !== 0) throw new Error(`Failed to read the commits of the remote: ${stderr}`);
  const [a, b, c] = stdout.trim().split("\n").map((commit) => `${ostreeRemote}@sha256:${commit}`);
  return { a: a ?? "", b: b ?? "", c: c ?? "" };
}

/** Returns the names of the nodes whose boot loader has ever tried to boot the commit that `reference` names. */
export async function triedOn(scene: StoryScene, reference: string): Promise<string[]> {
  const tried: string[] = [];
  for (const { metadata: { name } } of await nodesOf(scene)) {
    if (await wasTried(hostOf(scene), name, reference)) tried.push(name);
  }
  return tried;
}

/** Returns whether the boot loader of a node has ever tried to boot the commit that `reference` names. */
export async function wasTried(host: ContainerHost, node: string, reference: string): Promise<boolean> {
  const machine = await host.machine(node);
  const commit = reference.split(":")[1] ?? "";
  return (await machine.run(["test", "-e", `/sysroot/boots/tried-${commit}.0`])).exitCode === 0;
}

function hostOf({ ground }: StoryScene): ContainerHost {
  if (!ground.host) {
    throw new Error("Failed to find machines that boot in containers: the story needs --machines container");
  }
  return ground.host;
}
