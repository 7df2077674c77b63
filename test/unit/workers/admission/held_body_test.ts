import { deepEqual, equal } from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { HeldBody } from "../../../../workers/admission/webhook_server.ts";

const sent = (...chunks: string[]): IncomingMessage =>
  ReadableStream.from(chunks.map((chunk) => new TextEncoder().encode(chunk))) as unknown as IncomingMessage;

Deno.test("HeldBody: returns a text that fits into the limit, and counts it until it is disposed of", async () => {
  const held = { bytes: 0, atMost: 10 };
  {
    using body = new HeldBody(held);
    equal(await body.read(sent("12345", "678")), undefined);
    equal(body.take(), "12345678");
    equal(held.bytes, 8, "Expected the space to be held while the result is in use");
  }
  equal(held.bytes, 0);
});

Deno.test("HeldBody: refuses a text that exceeds the limit together with held texts, keeps nothing of it, and accepts a later text that fits", async () => {
  const held = { bytes: 0, atMost: 10 };
  using first = new HeldBody(held);
  equal(await first.read(sent("123456")), undefined);
  using second = new HeldBody(held);
  equal(await second.read(sent("1234", "5678", "9")), 429);
  equal(held.bytes, 6);
  using third = new HeldBody(held);
  deepEqual([await third.read(sent("1234")), third.take()], [undefined, "1234"]);
});
