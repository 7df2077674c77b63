/** Servers in place of a member of etcd, with a valid certificate, and with responses that a test defines. */
import { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { EtcdAccess } from "../../activities/etcd/access.ts";
import { CertificateAuthority } from "../../deploy/local/stack/certificate_authority.ts";

/** Answers a request to the server; `asked` is the request as "path body". */
export type Reply = (asked: string, response: ServerResponse, request: IncomingMessage) => void;

export interface FakeEtcd {
  /** In the form https://127.0.0.1:port. */
  endpoint: string;
  access: EtcdAccess;
  /** All requests, in order. */
  asked: string[];
}

const authority = CertificateAuthority.create("etcd");

/** Runs a story with a server that responds by `reply`. */
export async function withFakeEtcd(reply: Reply, story: (etcd: FakeEtcd) => Promise<void>): Promise<void> {
  const ca = await authority;
  const { certificatePem: cert, keyPem: key } = await ca.issue({
    ...{ commonName: "etcd", use: "server", ipAddresses: ["127.0.0.1"], dnsNames: ["localhost"] } as const,
  });
  const asked: string[] = [];
  const server = createServer({ cert, key }, async (request, response) => {
    const text = `${request.url} ${await textOf(request)}`;
    asked.push(text);
    reply(text, response, request);
  });
  const port = await listening(server);
  try {
    await story({ endpoint: `https://127.0.0.1:${port}`, access: await accessTo(ca), asked });
  } finally {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  }
}

/** Sends a reply in JSON. */
export function json(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
}

/**
 * Returns a reply that answers by the part of the path after "/v3/", and with 404 to a path that is not in `answers`.
 */
export function answering(answers: Record<string, unknown>): Reply {
  return (asked, response) => {
    const found = Object.entries(answers).find(([path]) => asked.startsWith(`/v3/${path} `));
    if (!found) return json(response, { code: 5, message: "Not Found" }, 404);
    const [, value] = found;
    if (value instanceof Refused) return json(response, { code: value.code, message: value.message }, value.status);
    json(response, value);
  };
}

/** An error response of etcd. */
export class Refused {
  constructor(readonly message: string, readonly code = 9, readonly status = 400) {}
}

async function accessTo(ca: CertificateAuthority): Promise<EtcdAccess> {
  const { certificatePem: cert, keyPem: key } = await ca.issue({ commonName: "ostler", use: "client" });
  return new EtcdAccess({ ca: ca.certificatePem, cert, key });
}

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  return (server.address() as AddressInfo).port;
}

async function textOf(request: IncomingMessage): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of request as AsyncIterable<Uint8Array>) parts.push(part);
  return Buffer.concat(parts).toString();
}
