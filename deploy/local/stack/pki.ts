import { generateKeyPair } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { CertificateAuthority, type CertificateRequest, type KeyedCertificate } from "./certificate_authority.ts";

/** A certificate with its key, and the files that contain them. */
interface StoredCertificate extends KeyedCertificate {
  readonly certificatePath: string;
  readonly keyPath: string;
}

/** All keys and certificates of one stack; only the owner can read the files of private keys. */
export interface Pki {
  /** Signs the certificates of the API server, of clients and, by kube-controller-manager, of kubelets. */
  readonly clusterAuthority: StoredCertificate;
  /** A separate authority, so that no certificate of the cluster gives access to etcd. */
  readonly etcdAuthority: StoredCertificate;
  readonly etcd: StoredCertificate;
  readonly apiServer: StoredCertificate;
  readonly apiServerEtcdClient: StoredCertificate;
  /** Client certificate of the API server for requests to kubelets: logs, metrics and configuration. */
  readonly kubeletClient: StoredCertificate;
  readonly controllerManagerServer: StoredCertificate;
  readonly controllerManager: StoredCertificate;
  /** Member of system:masters: for setup and observers, never for a component. */
  readonly admin: StoredCertificate;
  readonly serviceAccountKeyPath: string;
}

const loopback = { dnsNames: ["localhost"], ipAddresses: ["127.0.0.1"] };
const apiServerNames = ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"];

/** Creates the keys and certificates of a stack with its API server at `address`, and writes them to `directory`. */
export async function createPki(directory: string, address = "127.0.0.1"): Promise<Pki> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const [cluster, etcd, serviceAccountKeyPath] = await Promise.all([
    CertificateAuthority.create("kubernetes"),
    CertificateAuthority.create("etcd"),
    writeServiceAccountKey(directory),
  ]);
  const store = new CertificateStore(directory);
  const issue = async (name: string, authority: CertificateAuthority, request: CertificateRequest) =>
    await store.write(name, await authority.issue(request));
  const serving = { dnsNames: apiServerNames, ipAddresses: [...new Set(["127.0.0.1", address]), "10.96.0.1"] };
  return {
    clusterAuthority: await store.write("ca", await cluster.keyed()),
    etcdAuthority: await store.write("etcd-ca", await etcd.keyed()),
    etcd: await issue("etcd", etcd, { commonName: "etcd", use: "client and server", ...loopback }),
    apiServerEtcdClient: await issue("apiserver-etcd-client", etcd, { commonName: "kube-apiserver", use: "client" }),
    apiServer: await issue("apiserver", cluster, { commonName: "kube-apiserver", use: "server", ...serving }),
    kubeletClient: await issue("apiserver-kubelet-client", cluster, {
      commonName: "kube-apiserver-kubelet-client",
      organization: "system:masters",
      use: "client",
    }),
    controllerManagerServer: await issue("controller-manager-server", cluster, {
      commonName: "kube-controller-manager",
      use: "server",
      ...loopback,
    }),
    controllerManager: await issue("controller-manager", cluster, {
      commonName: "system:kube-controller-manager",
      use: "client",
    }),
    admin: await issue("admin", cluster, { commonName: "admin", organization: "system:masters", use: "client" }),
    serviceAccountKeyPath,
  };
}

class CertificateStore {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  async write(name: string, certificate: KeyedCertificate): Promise<StoredCertificate> {
    const certificatePath = join(this.#directory, `${name}.crt`);
    const keyPath = join(this.#directory, `${name}.key`);
    await writeFile(certificatePath, certificate.certificatePem, { mode: 0o644 });
    await writeFile(keyPath, certificate.keyPem, { mode: 0o600 });
    return { ...certificate, certificatePath, keyPath };
  }
}

async function writeServiceAccountKey(directory: string): Promise<string> {
  const { privateKey } = await promisify(generateKeyPair)("rsa", {
    modulusLength: 2048,
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  });
  const path = join(directory, "service-account.key");
  await writeFile(path, privateKey, { mode: 0o600 });
  return path;
}
