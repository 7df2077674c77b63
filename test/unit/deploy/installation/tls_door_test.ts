/** Tests that closing a TlsDoor closes its connections. */
import { once } from "node:events";
import { connect } from "node:net";
import { authorityOf, TlsDoor } from "../../../../deploy/local/installation/tls_door.ts";

Deno.test("TlsDoor.close: does not wait for a client that never completes the handshake", async () => {
  const door = await TlsDoor.open({ behind: "127.0.0.1:1", own: await authorityOf("ca") });
  const caller = connect(door.port, "127.0.0.1");
  const ended = once(caller, "close");
  await once(caller, "connect");
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error("The door or its connection is still open")), 10_000);
  await Promise.race([Promise.all([door.close(), ended]), late.promise]);
  clearTimeout(timer);
});
