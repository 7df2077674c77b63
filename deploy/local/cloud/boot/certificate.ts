import { KubeConfig, type V1CertificateSigningRequest } from "@kubernetes/client-node";
import { connect, type Connection } from "../kube.ts";
import type { Link } from "../link.ts";
import { Hopeless, type Patience, persist, poll } from "../patience.ts";
import { webcrypto } from "node:crypto";
import "../../../../activities/x509/reflection.ts";
import { PemConverter, Pkcs10CertificateRequestGenerator } from "@peculiar/x509";

/**
 * Parses a kubelet's bootstrap kubeconfig; throws Hopeless, without quoting content, if a kubelet could not safely use
 * it.
 */
export function readBootstrapKubeconfig(text: string): KubeConfig {
  const config = new KubeConfig();
  try {
    config.loadFromString(text);
  } catch {
    throw new Hopeless("Invalid bootstrap kubeconfig: it cannot be parsed");
  }
  const cluster = config.getCurrentCluster();
  const flaw = !cluster?.server.startsWith("https://")
    ? "it names no https server"
    : !cluster.caData || cluster.skipTLSVerify
    ? "it has no certificate authority"
    : !config.getCurrentUser()?.token
    ? "it has no token"
    : undefined;
  if (flaw !== undefined) throw new Hopeless(`Invalid bootstrap kubeconfig: ${flaw}`);
  return config;
}

/**
 * Requests a certificate with a bootstrap kubeconfig, waits until the cluster has approved and signed it, and returns
 * the node's own kubeconfig.
 */
export async function obtainNodeConfig(
  bootstrap: KubeConfig,
  nodeName: string,
  means: { link: Link; patience: Patience },
): Promise<KubeConfig> {
  const { key, request } = await requestNodeCertificate(nodeName);
  const connection = connect(bootstrap);
  try {
    const name = await persist(means.patience, () => submit(connection, request, means.link));
    const certificate = await poll(
      { what: `certificate signing request "${name}" to be signed`, ...means.patience },
      () => readCertificate(connection, name, means.link),
    );
    return nodeConfig(bootstrap, certificate, key);
  } finally {
    await connection.close();
  }
}

async function submit(connection: Connection, request: string, link: Link): Promise<string> {
  link.use();
  const body: V1CertificateSigningRequest = {
    apiVersion: "certificates.k8s.io/v1",
    kind: "CertificateSigningRequest",
    metadata: { generateName: "node-csr-" },
    spec: {
      request: Buffer.from(request).toString("base64"),
      signerName: "kubernetes.io/kube-apiserver-client-kubelet",
      usages: ["digital signature", "client auth"],
    },
  };
  const created = await connection.certificates.createCertificateSigningRequest({ body });
  return created.metadata?.name ?? "";
}

async function readCertificate(connection: Connection, name: string, link: Link): Promise<string | undefined> {
  link.use();
  const { status } = await connection.certificates.readCertificateSigningRequest({ name });
  const refusal = status?.conditions?.find(({ type }) => type === "Denied" || type === "Failed");
  if (refusal !== undefined) {
    throw new Hopeless(
      `Failed to get a certificate: certificate signing request "${name}" is ${refusal.type}, reason ` +
        `"${refusal.reason ?? "not given"}"`,
    );
  }
  return status?.certificate;
}

function nodeConfig(bootstrap: KubeConfig, certificate: string, key: string): KubeConfig {
  const cluster = bootstrap.getCurrentCluster();
  if (cluster === null) throw new Hopeless("Invalid bootstrap kubeconfig: it names no cluster");
  const config = new KubeConfig();
  config.loadFromClusterAndUser(cluster, {
    name: "node",
    certData: certificate,
    keyData: Buffer.from(key).toString("base64"),
  });
  return config;
}

/** A node's new key and certificate signing request, both in PEM. */
interface CertificateRequest {
  key: string;
  request: string;
}

/**
 * Creates an ECDSA P-256 key and a PKCS#10 request with the subject that the kubelet signer requires: O and CN only.
 */
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
