import { randomInt } from "node:crypto";
import { createServer } from "node:net";

// Below the ephemeral ranges of Linux and macOS: while a killed server is down, a client that keeps dialling its port
// would else sooner or later be given that very port as its own, connect to itself, and block the restart.
const lowestPort = 20_000;
const portsEnd = 32_000;
const attemptsPerPort = 200;

const handedOut = new Set<number>();

/** `count` different ports of 127.0.0.1 that nobody listens on now and that no earlier call of this process was given. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  for (let attempts = 0; ports.length < count; attempts++) {
    if (attempts >= count * attemptsPerPort) {
      throw new Error(`Cannot find ${count} free ports: ${attempts} between ${lowestPort} and ${portsEnd} are taken`);
    }
    const port = randomInt(lowestPort, portsEnd);
    if (handedOut.has(port)) continue;
    handedOut.add(port);
    if (await canListen(port)) ports.push(port);
    else handedOut.delete(port);
  }
  return ports;
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen({ port, host: "127.0.0.1", exclusive: true }, () => server.close(() => resolve(true)));
  });
}
