/** TLS servers in this process, and certificates with any fields. */
import { Buffer } from "node:buffer";
import { webcrypto } from "node:crypto";
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from "node:net";
import { createServer, type TlsOptions } from "node:tls";
// Must precede @peculiar/x509, which does not load without it.
import "../../activities/x509/reflection.ts";
import * as x509 from "@peculiar/x509";

const keyAlgorithm = { name: "ECDSA", namedCurve: "P-256" };
const signingAlgorithm = { name: "ECDSA", hash: "SHA-256" };

/** A certificate that signs itself, with its key; both PEM. */
export interface SelfSigned {
  cert: string;
  key: string;
}

export interface Fields {
  commonName?: string;
  from: Date;
  until: Date;
}

export async function selfSigned({ commonName = "test", from, until }: Fields): Promise<SelfSigned> {
  const keys = await webcrypto.subtle.generateKey(keyAlgorithm, true, ["sign", "verify"]) as CryptoKeyPair;
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    ...{ keys, signingAlgorithm, serialNumber: "4a01", name: [{ CN: [commonName] }], notBefore: from, notAfter: until },
  });
  const der = await webcrypto.subtle.exportKey("pkcs8", keys.privateKey as webcrypto.CryptoKey);
  return { cert: certificate.toString("pem"), key: x509.PemConverter.encode(der, "PRIVATE KEY") };
}

/** Replaces bytes of the certificate, so that its signature is invalid. */
export function mangled({ cert, key }: SelfSigned, old: string, bytes: string): SelfSigned {
  const der = Buffer.from(x509.PemConverter.decodeFirst(cert));
  der.write(bytes, der.indexOf(old), "latin1");
  return { cert: x509.PemConverter.encode(der, "CERTIFICATE"), key };
}

/** Counts of a server. */
export interface Seen {
  port: number;
  /** Completed TLS handshakes, each with whether the client sent a certificate. */
  handshakes: { hasCertificate: boolean }[];
  /** Number of bytes that clients have sent. */
  bytes: number;
}

/** Runs a story with a TLS server. */
export async function withTls(options: TlsOptions, story: (seen: Seen) => Promise<void>): Promise<void> {
  const seen: Seen = { port: 0, handshakes: [], bytes: 0 };
  const sockets = new Set<Socket>();
  const server = createServer(options, (socket) => {
    seen.handshakes.push({ hasCertificate: Object.keys(socket.getPeerCertificate() ?? {}).length > 0 });
    socket.on("error", () => undefined);
    socket.on("data", ({ length }) => seen.bytes += length);
  });
  server.on("tlsClientError", () => undefined);
  await serving(server, sockets, seen, story);
}

/** Runs a story with a TCP server that passes each connection to `take`. */
export async function withTcp(take: (socket: Socket) => void, story: (seen: Seen) => Promise<void>): Promise<void> {
  const seen: Seen = { port: 0, handshakes: [], bytes: 0 };
  const server = createTcpServer((socket) => {
    socket.on("error", () => undefined);
    take(socket);
  });
  await serving(server, new Set(), seen, story);
}

async function serving(
  server: Server,
  sockets: Set<Socket>,
  seen: Seen,
  story: (seen: Seen) => Promise<void>,
): Promise<void> {
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  seen.port = (server.address() as AddressInfo).port;
  try {
    await story(seen);
  } finally {
    for (const socket of sockets) socket.destroy();
    await new Promise((closed) => server.close(closed));
  }
}
