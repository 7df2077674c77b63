import { deepEqual, equal, rejects, throws } from "node:assert/strict";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { urlSink } from "../../../../activities/etcd/url_sink.ts";

async function serving(answer: RequestListener, story: (url: string) => Promise<void>): Promise<void> {
  const server = createServer(answer);
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", () => listening()));
  try {
    await story(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  }
}

async function* pieces(count: number, end?: Error): AsyncGenerator<Uint8Array> {
  for (let nth = 0; nth < count; nth++) yield await Promise.resolve(new Uint8Array(32 * 1024).fill(nth));
  if (end) throw end;
}

const answered = (status: number, headers: Record<string, string> = {}): RequestListener => (request, response) => {
  request.resume().on("end", () => response.writeHead(status, headers).end("sesame"));
};

Deno.test("urlSink: sends a PUT to its URL with the name of the snapshot appended to the path", async () => {
  const seen: unknown[] = [];
  await serving((request, response) => {
    let size = 0;
    request.on("data", (part: Uint8Array) => size += part.length);
    request.on("end", () => {
      seen.push([request.method, request.url, request.headers.authorization, size]);
      response.end();
    });
  }, async (url) => {
    await urlSink(`${url}/a/b/?sig=x`, { token: "t" }).write("one.db", pieces(3));
    await urlSink(url).write("two.db", pieces(1));
  });
  deepEqual(seen, [["PUT", "/a/b/one.db?sig=x", "Bearer t", 98_304], ["PUT", "/two.db", undefined, 32_768]]);
});

Deno.test("urlSink: reports the status of the server, and follows no redirect", async () => {
  const cases = [[403, "AccessDenied"], [401, "AccessDenied"], [302, "ApiUnavailable"], [
    500,
    "ApiUnavailable",
  ]] as const;
  for (const [status, type] of cases) {
    await serving(answered(status, { location: "http://localhost:1/" }), async (url) => {
      const message = `Failed to store etcd snapshot "a.db" at "${url}": HTTP ${status}`;
      await rejects(urlSink(url, { token: "t" }).write("a.db", pieces(1)), { type, message });
    });
  }
});

Deno.test("urlSink: breaks off the request, so that the server never receives a complete one, when the snapshot is incomplete", async () => {
  let whole = 0;
  await serving((request, response) => {
    request.on("error", () => undefined);
    request.resume().on("end", () => {
      if (request.complete) whole++;
      response.end();
    });
  }, async (url) => {
    const odd = new Error("it is not whole");
    await rejects(urlSink(url).write("a.db", pieces(40, odd)));
  });
  equal(whole, 0);
});

Deno.test("urlSink: fails when the server stops reading, or does not answer, within the idle timeout", async () => {
  const endless = async function* (): AsyncGenerator<Uint8Array> {
    for (;;) yield await Promise.resolve(new Uint8Array(1024 * 1024));
  };
  await serving((request) => void request.pause(), async (url) => {
    const message = `Failed to send an etcd snapshot to "${url}": the server stopped receiving`;
    const sink = urlSink(url, { idleMs: 300 });
    await rejects(sink.write("a.db", endless()), { type: "ApiUnavailable", message });
  });
  await serving((request) => void request.resume(), async (url) => {
    const message = `Failed to send an etcd snapshot to "${url}": the server stopped receiving`;
    await rejects(urlSink(url, { idleMs: 300 }).write("a.db", pieces(1)), { type: "ApiUnavailable", message });
  });
});

Deno.test("urlSink: sends a token only over TLS or loopback, and refuses credentials in the URL", () => {
  for (const host of ["store.example", "127.example.com"]) {
    throws(() => urlSink(`http://${host}`, { token: "t" }), { type: "ObjectInvalid", message: /only sent over TLS/ });
  }
  for (const host of ["localhost", "127.1", "[::1]"]) urlSink(`http://${host}`, { token: "t" });
  throws(() => urlSink("https://u:p@store.example"), { type: "ObjectInvalid", message: /contains credentials/ });
  throws(() => urlSink("ftp://store.example"), { type: "ObjectInvalid", message: /expected an http or https URL$/ });
  urlSink("https://store.example", { token: "t" });
});
