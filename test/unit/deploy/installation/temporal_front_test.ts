import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { connect, type TLSSocket } from "node:tls";
import { type Access, TemporalFront } from "../../../../deploy/local/installation/temporal_front.ts";
import { doorName } from "../../../../deploy/local/installation/tls_door.ts";
import { eventually } from "../../../support/eventually.ts";

const host = "127.0.0.1";

/** A server that echoes what it receives. */
async function echo(): Promise<Server> {
  const server = createServer((socket) => void socket.pipe(socket).on("error", () => {}));
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return server;
}

function dial({ address }: TemporalFront, { caPem, certificatePem, keyPem }: Access): TLSSocket {
  const [, port] = address.split(":");
  const pair = { cert: certificatePem, key: keyPem };
  const socket = connect({ host, port: Number(port), ca: caPem, servername: doorName, ALPNProtocols: ["h2"], ...pair });
  socket.on("error", () => {}); // a refused client gets no answer, whatever its error
  return socket;
}

/** Returns whether the client of this socket gets an answer before its connection ends. */
async function isHeard(socket: TLSSocket): Promise<boolean> {
  socket.write("a");
  return await Promise.race([
    once(socket, "data").then(() => true, () => false),
    once(socket, "close").then(() => false),
  ]);
}

Deno.test("TemporalFront: accepts client certificates of the old and the new authority, and after retire() only of the new one", async () => {
  const server = await echo();
  const { port } = server.address() as { port: number };
  try {
    await using front = await TemporalFront.open(host, `${host}:${port}`);
    const old = dial(front, await front.firstAccess());
    assert.equal(await isHeard(old), true);
    assert.equal(front.isReached, false, "Expected no connection with the new certificate yet");
    const next = dial(front, await front.nextAccess());
    assert.equal(await isHeard(next), true);
    assert.equal(front.isReached, true);
    await front.retire();
    // The server has closed the old connection, but the client may notice that only later.
    await eventually("the old connection to end", () => old.destroyed);
    assert.equal(await isHeard(dial(front, await front.oldAccess())), false);
    const late = dial(front, await front.nextAccess());
    assert.equal(await isHeard(late), true);
    front.cut(true);
    await once(late, "close");
  } finally {
    await new Promise<void>((resolve) => server.close(() => resolve()));
  }
});
