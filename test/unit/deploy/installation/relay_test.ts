import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { freePorts } from "../../../../deploy/local/process/free_ports.ts";
import { Relay } from "../../../../deploy/local/installation/temporal_front.ts";

const host = "127.0.0.1";

/** A server that answers each message with the message twice. */
async function echo(port: number): Promise<Server> {
  const server = createServer((socket) => void socket.on("data", (data) => socket.write(`${data}${data}`)));
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  return server;
}

async function say(socket: Socket, text: string): Promise<string> {
  socket.write(text);
  const [answer] = await once(socket, "data");
  return String(answer);
}

Deno.test("Relay: forwards both directions, closes connections when cut, and forwards again afterwards", async () => {
  const [at = 0, to = 0] = await freePorts(2);
  const server = await echo(to);
  try {
    await using relay = await Relay.open({ at: { host, port: at }, to: { host, port: to } });
    const first = connect(at, host);
    assert.equal(await say(first, "a"), "aa");
    relay.cut(true);
    await once(first, "close");
    const refused = connect(at, host);
    refused.on("error", () => {}); // whether the refused connection ends with an error depends on the moment
    await once(refused, "close");
    relay.cut(false);
    const second = connect(at, host);
    assert.equal(await say(second, "b"), "bb");
    second.destroy();
  } finally {
    await new Promise<void>((resolve) => server.close(() => resolve()));
  }
});
