/** Checks whether Temporal accepts given credentials. */
import { NativeConnection } from "@temporalio/worker";
import { Buffer } from "node:buffer";
import type { Access } from "./temporal_front.ts";
import { doorName } from "./tls_door.ts";

/** Returns whether a connection to "host:port" with these credentials succeeds. */
export async function isAdmitted(address: string, { caPem, certificatePem, keyPem }: Access): Promise<boolean> {
  const clientCertPair = { crt: Buffer.from(certificatePem), key: Buffer.from(keyPem) };
  const tls = { serverNameOverride: doorName, serverRootCACertificate: Buffer.from(caPem), clientCertPair };
  return await NativeConnection.connect({ address, tls }).then(async (connection) => {
    await connection.close();
    return true;
  }, () => false);
}
