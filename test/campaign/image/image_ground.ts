/** Ostler's image, built on a Docker engine, and containers of the image with the restrictions that the chart sets. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { getContainerRuntimeClient } from "testcontainers";
import { aimTestcontainers } from "../../../deploy/local/engine/aim_testcontainers.ts";
import { openEngine } from "../../../deploy/local/engine/engine.ts";
import { buildImage, loadImage } from "../../../deploy/release/image/build_image.ts";
import type { SteadyImage } from "../../../deploy/release/image/steady_image.ts";
import { cacheFolder } from "../../../deploy/local/tools/environment.ts";

export interface Start {
  args: readonly string[];
  env?: Readonly<Record<string, string>>;
  /** Paths of this host by the path in the container at which they are mounted read-only. */
  mounts?: Readonly<Record<string, string>>;
  /** Replaces the image's own entrypoint. */
  entrypoint?: readonly string[];
}

export interface Container {
  /** Returns the output of the container until now. */
  said(): Promise<string>;
  signal(name: "SIGTERM"): Promise<void>;
  /** Waits for the end of the container, and returns its exit code. */
  ended(): Promise<number>;
}

export interface ImageGround {
  readonly image: SteadyImage;
  /** Builds the image again without cached files of Ostler and its packages. */
  buildAgain(): Promise<SteadyImage>;
  start(options: Start): Promise<Container>;
  inspect(): Promise<{ Id: string; Architecture: string; Config: { User: string; Labels: Record<string, string> } }>;
}

/** Builds the image, and removes it and its containers after the test. */
export async function withImage(test: (ground: ImageGround) => Promise<void>): Promise<void> {
  const tools = cacheFolder(process.env);
  if (tools === undefined) {
    throw new Error("Failed to find a folder for images: neither HOME nor XDG_CACHE_HOME is set");
  }
  const install = process.env["OSTLER_INSTALL_DOCKER"] === "true";
  const engine = await openEngine({ install, directory: join(tools, "..", "machines", "docker") });
  using _aimed = aimTestcontainers(engine.socket);
  const output = await mkdtemp(join(tmpdir(), "ostler-image-"));
  const { container: { dockerode } } = await getContainerRuntimeClient();
  const version = `0.0.0-test-${process.pid}`;
  try {
    const image = await buildImage({ version, output });
    await loadImage(image);
    await test({
      image,
      buildAgain: () => buildImage({ version, output: join(output, "again"), attempt: "second" }),
      start: (options) => startContainer(image.name, engine.runLabels(), options),
      inspect: async () => await dockerode.getImage(image.name).inspect() as never,
    });
  } finally {
    await dockerode.getImage(`ostler:${version}`).remove({ force: true }).catch(() => undefined);
    await rm(output, { recursive: true, force: true });
    await engine.stop();
  }
}

async function startContainer(image: string, labels: Record<string, string>, options: Start): Promise<Container> {
  const { container: { dockerode } } = await getContainerRuntimeClient();
  const { args, env = {}, mounts = {}, entrypoint } = options;
  const container = await dockerode.createContainer({
    Image: image,
    Cmd: [...args],
    ...(entrypoint ? { Entrypoint: [...entrypoint] } : {}),
    Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
    Labels: labels,
    // The same restrictions as in the chart; the user is the one that the image names.
    HostConfig: {
      ReadonlyRootfs: true,
      Tmpfs: { "/tmp": "rw,noexec,nosuid,size=256m,mode=1777" },
      CapDrop: ["ALL"],
      SecurityOpt: ["no-new-privileges"],
      NetworkMode: "host",
      Binds: Object.entries(mounts).map(([place, path]) => `${path}:${place}:ro`),
    },
  });
  await container.start();
  return {
    said: async () => textOf(await container.logs({ stdout: true, stderr: true, follow: false })),
    signal: async (signal) => void await container.kill({ signal }),
    ended: async () => (await container.wait()).StatusCode,
  };
}

/** The engine puts eight bytes before each piece: its stream, and its length. */
function textOf(framed: Buffer): string {
  const pieces: Buffer[] = [];
  for (let at = 0; at + 8 <= framed.length;) {
    const end = at + 8 + framed.readUInt32BE(at + 4);
    pieces.push(framed.subarray(at + 8, end));
    at = end;
  }
  return Buffer.concat(pieces).toString();
}
