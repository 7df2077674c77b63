import { deepEqual, equal, match, ok } from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { readServed, type Served } from "../../../../activities/x509/served_certificate.ts";
import { CertificateAuthority } from "../../../../deploy/local/stack/certificate_authority.ts";
import { mangled, selfSigned, withTcp, withTls } from "../../../support/tls_server.ts";

const [from, until] = [new Date("2026-01-01T00:00:00Z"), new Date("2027-01-01T00:00:00Z")];
const plain = await selfSigned({ from, until });
const wanted = { from: from.getTime(), until: until.getTime() };
const host = "127.0.0.1";

function reasonOf(served: Served): string {
  ok("unknown" in served, JSON.stringify(served));
  return served.unknown;
}

Deno.test("readServed: returns the validity of a certificate, shows no client certificate, and sends no bytes after the handshake", async () => {
  await withTls({ ...plain, requestCert: true, rejectUnauthorized: false }, async (seen) => {
    deepEqual(await readServed({ host, port: seen.port }), wanted);
    await pause(50);
    deepEqual([seen.handshakes, seen.bytes], [[{ hasCertificate: false }], 0]);
  });
});

Deno.test("readServed: returns the validity of an expired certificate, because it verifies nothing", async () => {
  const old = await selfSigned({ from: new Date("2020-01-01T00:00:00Z"), until: new Date("2021-01-01T00:00:00Z") });
  await withTls(old, async ({ port }) => {
    deepEqual(await readServed({ host, port }), { from: Date.UTC(2020, 0), until: Date.UTC(2021, 0) });
  });
});

Deno.test("readServed: reads the certificate of a server that accepts only clients with a certificate, as etcd does", async () => {
  const ca = (await CertificateAuthority.create("etcd")).certificatePem;
  const strict = { ...plain, ca, requestCert: true, rejectUnauthorized: true };
  await withTls(strict, async ({ port }) => deepEqual(await readServed({ host, port }), wanted));
  // With TLS 1.2, such a server rejects a client without a certificate before the server's certificate is known.
  await withTls({ ...strict, maxVersion: "TLSv1.2" }, async ({ port }) => {
    match(reasonOf(await readServed({ host, port })), /^the TLS handshake failed \([A-Z0-9_]+\)$/);
  });
});

Deno.test("readServed: returns a reason instead of a validity when a server refuses the connection", async () => {
  let gone = 0;
  await withTcp(() => {}, ({ port }) => Promise.resolve(void (gone = port)));
  equal(reasonOf(await readServed({ host, port: gone })), "the TLS handshake failed (ECONNREFUSED)");
});

const strange: [what: string, take: Parameters<typeof withTcp>[0]][] = [
  ["closes the connection", (socket) => socket.destroy()],
  ["speaks another protocol", (socket) => socket.write("HTTP/1.1 400 Bad Request\r\n\r\n")],
  ["floods the client", (socket) => {
    const more = (): void => {
      while (!socket.destroyed && socket.write(new Uint8Array(60_000))) continue;
    };
    socket.on("drain", more);
    more();
  }],
  ["sends one byte at a time", (socket) => {
    const timer = setInterval(() => socket.write("\x16"), 20);
    socket.on("close", () => clearInterval(timer));
  }],
  ["does not answer", () => {}],
];

for (const [what, take] of strange) {
  Deno.test(`readServed: returns a reason instead of a validity, within the time limit, when a server ${what}`, async () => {
    await withTcp(take, async ({ port }) => {
      const begun = Date.now();
      const reason = reasonOf(await readServed({ host, port }, 300));
      ok(Date.now() - begun < 2_000);
      match(
        reason,
        /^(the TLS handshake failed \([A-Z0-9_ a-z]+\)|no TLS handshake within 0.3 s|the server closed .*)$/,
      );
    });
  });
}

const absurd: [what: string, certificate: () => Promise<{ cert: string; key: string }>, is: Served | RegExp][] = [
  ["ends before it begins", () => selfSigned({ from: until, until: from }), /^the certificate cannot be read$/],
  ["does not end", () => selfSigned({ from, until: new Date("9999-12-31T23:59:59Z") }), {
    ...{ from: from.getTime(), until: Date.UTC(9999, 11, 31, 23, 59, 59) },
  }],
  [
    "has control characters in its subject",
    () => selfSigned({ commonName: "a\u001b[31m\n\u0000\u202e", from, until }),
    {
      ...wanted,
    },
  ],
  ["has a large subject", () => selfSigned({ commonName: "x".repeat(15_000), from, until }), wanted],
  ["has a month 99", () => Promise.resolve(mangled(plain, "270101000000Z", "279999999999Z")), /^the certificate /],
  [
    "has no number as its time",
    () => Promise.resolve(mangled(plain, "270101000000Z", "\u001b[31m<b>&\n\"'Z")),
    /^the /,
  ],
];

for (const [what, certificate, is] of absurd) {
  Deno.test(`readServed: returns the validity or a reason, in plain characters, for a certificate that ${what}`, async () => {
    await withTls(await certificate(), async ({ port }) => {
      const served = await readServed({ host, port });
      if (is instanceof RegExp) match(reasonOf(served), is);
      else deepEqual(served, is);
      ok(/^[\x20-\x7e]{1,200}$/.test(JSON.stringify(served)));
    });
  });
}
