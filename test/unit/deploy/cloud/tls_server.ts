import type { RequestListener } from "node:http";
import { createServer } from "node:https";
import { CertificateAuthority } from "../../../../deploy/local/stack/certificate_authority.ts";

/** A TLS server on loopback that stands in for an API server. */
export interface TlsServer extends AsyncDisposable {
  url: string;
  ca: string;
}

/** Starts a TLS server with its own CA. */
export async function startTlsServer(listener: RequestListener): Promise<TlsServer> {
  const authority = await CertificateAuthority.create("test");
  const issued = await authority.issue({ commonName: "server", use: "server", ipAddresses: ["127.0.0.1"] });
  const server = createServer({ cert: issued.certificatePem, key: issued.keyPem }, listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("Failed to start a TLS server: it has no port");
  return {
    url: `https://127.0.0.1:${address.port}`,
    ca: authority.certificatePem,
    async [Symbol.asyncDispose](): Promise<void> {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
