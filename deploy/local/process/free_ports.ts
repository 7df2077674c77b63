import { randomInt } from "node:crypto";
import { createServer } from "node:net";
import process from "node:process";

/** First and last port of the default range; OSTLER_PORTS sets another range. */
// The range is below the ephemeral ports of Linux and macOS. Otherwise, while a killed server is down, a client that
// keeps dialing its port could get that port as source port, connect to itself, and block the restart.
export const usualPorts = { first: 20_000, last: 31_999 };

const attemptsPerPort = 200;

const handedOut = new Set<number>();

/** Returns `count` different ports of 127.0.0.1 that are free now and that no earlier call in this process returned. */
export async function freePorts(
  count: number,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<number[]> {
  const { first, last } = portRange(env["OSTLER_PORTS"]);
  const ports: number[] = [];
  for (let attempts = 0; ports.length < count; attempts++) {
    if (attempts >= count * attemptsPerPort) {
      throw new Error(
        `Failed to find ${count} free ports: ${attempts} attempts with ports from ${first} to ${last} found ` +
          `${ports.length}; set OSTLER_PORTS to another range`,
      );
    }
    const port = randomInt(first, last + 1);
    if (handedOut.has(port)) continue;
    handedOut.add(port);
    if (await canListen(port)) ports.push(port);
    else handedOut.delete(port);
  }
  return ports;
}

/** Parses a range such as "20000-25999"; programs with different ranges can run concurrently without port conflicts. */
function portRange(text: string | undefined): { first: number; last: number } {
  if (!text) return usualPorts;
  const [, first, last] = (/^(\d+)-(\d+)$/.exec(text) ?? []).map(Number);
  if (first && last && first < last && last < 65_536) return { first, last };
  throw new Error(`Invalid OSTLER_PORTS "${text}": accepted is a range such as "20000-25999"`);
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen({ port, host: "127.0.0.1", exclusive: true }, () => server.close(() => resolve(true)));
  });
}
