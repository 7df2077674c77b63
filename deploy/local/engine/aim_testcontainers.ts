import process from "node:process";

/**
 * Has testcontainers, before its first use, talk to this engine until disposed of. Its own cleaner is an image that not
 * every site can pull: the engine room cleans.
 */
export function aimTestcontainers(socket: string): Disposable {
  const { DOCKER_HOST: before } = process.env;
  process.env.DOCKER_HOST = socket;
  process.env.TESTCONTAINERS_RYUK_DISABLED = "true";
  return {
    [Symbol.dispose](): void {
      if (before === undefined) delete process.env.DOCKER_HOST;
      else process.env.DOCKER_HOST = before;
    },
  };
}
