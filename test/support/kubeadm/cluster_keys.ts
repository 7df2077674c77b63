/**
 * The certificate authorities of a cluster, created before its first machine: the administrator's certificate exists
 * from the
 * start, and all control planes get the same authorities, as with `kubeadm init --upload-certs`.
 */
import { createPublicKey, generateKeyPairSync } from "node:crypto";
import { CertificateAuthority, type KeyedCertificate } from "../../../deploy/local/stack/certificate_authority.ts";
import type { BootFile } from "../../../deploy/local/machines/groups/node_files.ts";

const folder = "/etc/kubernetes/pki";

export class ClusterKeys {
  private constructor(
    readonly cluster: CertificateAuthority,
    readonly etcd: CertificateAuthority,
    /** Files that control planes share. */
    readonly files: readonly BootFile[],
  ) {}

  static async create(): Promise<ClusterKeys> {
    const [cluster, etcd, frontProxy] = await Promise.all(
      ["kubernetes", "etcd-ca", "front-proxy-ca"].map((name) => CertificateAuthority.create(name)),
    ) as [CertificateAuthority, CertificateAuthority, CertificateAuthority];
    const pairs = { ca: cluster, "etcd/ca": etcd, "front-proxy-ca": frontProxy };
    const files = await Promise.all(
      Object.entries(pairs).map(async ([name, each]) => pairOf(name, await each.keyed())),
    );
    return new ClusterKeys(cluster, etcd, [...files.flat(), ...serviceAccountKeys()]);
  }

  /** Issues a client certificate of an administrator. */
  administrator(): Promise<KeyedCertificate> {
    return this.cluster.issue({ commonName: "admin", organization: "system:masters", use: "client" });
  }

  /** Issues a client certificate for etcd, as data of a Secret of type kubernetes.io/tls. */
  async etcdClient(commonName: string): Promise<Record<"ca.crt" | "tls.crt" | "tls.key", string>> {
    const { certificatePem, keyPem } = await this.etcd.issue({ commonName, use: "client" });
    return { "ca.crt": this.etcd.certificatePem, "tls.crt": certificatePem, "tls.key": keyPem };
  }
}

function pairOf(name: string, { certificatePem, keyPem }: KeyedCertificate): BootFile[] {
  return [
    { path: `${folder}/${name}.crt`, permissions: "0644", content: certificatePem },
    { path: `${folder}/${name}.key`, permissions: "0600", content: keyPem },
  ];
}

function serviceAccountKeys(): BootFile[] {
  const { privateKey } = generateKeyPairSync("rsa", {
    modulusLength: 2048,
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  });
  const publicKey = createPublicKey(privateKey).export({ type: "spki", format: "pem" }).toString();
  return [
    { path: `${folder}/sa.key`, permissions: "0600", content: privateKey },
    { path: `${folder}/sa.pub`, permissions: "0644", content: publicKey },
  ];
}
