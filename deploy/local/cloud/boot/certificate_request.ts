import { webcrypto } from "node:crypto";
import "../../../../activities/x509/reflection.ts";
import { PemConverter, Pkcs10CertificateRequestGenerator } from "@peculiar/x509";

/** A node's new key and the request for its certificate, both PEM. */
export interface CertificateRequest {
  key: string;
  request: string;
}

/** Makes an ECDSA P-256 key and a PKCS#10 request with the subject the kubelet signer demands: no names but O and CN. */
export async function requestNodeCertificate(nodeName: string): Promise<CertificateRequest> {
  const algorithm = { name: "ECDSA", namedCurve: "P-256" };
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const request = await Pkcs10CertificateRequestGenerator.create({
    name: [{ O: ["system:nodes"] }, { CN: [`system:node:${nodeName}`] }],
    keys: keys as CryptoKeyPair,
    signingAlgorithm: { name: "ECDSA", hash: "SHA-256" },
  });
  const der = await webcrypto.subtle.exportKey("pkcs8", keys.privateKey);
  return { key: PemConverter.encode(der, "PRIVATE KEY"), request: request.toString("pem") };
}
