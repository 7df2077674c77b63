import process from "node:process";

/**
 * Makes testcontainers use this engine, until the returned object is disposed of. Call it before testcontainers is
 * first used. Disables the cleanup container of testcontainers, whose image not every site can pull; the keeper process
 * (`keeper.ts`) cleans up instead.
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
