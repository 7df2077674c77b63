import { randomInt } from "node:crypto";
import { createServer } from "node:net";
import process from "node:process";

/** The first and the last port that is handed out, unless OSTLER_PORTS names others. */
// Below the ephemeral ranges of Linux and macOS: while a killed server is down, a client that keeps dialling its port
// would else sooner or later be given that very port as its own, connect to itself, and block the restart.
export const usualPorts = { first: 20_000, last: 31_999 };

const attemptsPerPort = 200;

const handedOut = new Set<number>();

/** `count` different ports of 127.0.0.1 that nobody listens on now and that no earlier call of this process was given. */
export async function freePorts(
  count: number,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<number[]> {
  const { first, last } = portRange(env["OSTLER_PORTS"]);
  const ports: number[] = [];
  for (let attempts = 0; ports.length < count; attempts++) {
    if (attempts >= count * attemptsPerPort) {
      throw new Error(`Cannot find ${count} free ports: ${attempts} between ${first} and ${last} are taken`);
    }
    const port = randomInt(first, last + 1);
    if (handedOut.has(port)) continue;
    handedOut.add(port);
    if (await canListen(port)) ports.push(port);
    else handedOut.delete(port);
  }
  return ports;
}

/** Programs side by side that are given different ranges, such as "20000-25999", never want the same port. */
function portRange(text: string | undefined): { first: number; last: number } {
  if (!text) return usualPorts;
  const [, first, last] = (/^(\d+)-(\d+)$/.exec(text) ?? []).map(Number);
  if (first && last && first < last && last < 65_536) return { first, last };
  throw new Error(`Cannot find free ports: OSTLER_PORTS is "${text}", and no range such as "20000-25999"`);
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen({ port, host: "127.0.0.1", exclusive: true }, () => server.close(() => resolve(true)));
  });
}
