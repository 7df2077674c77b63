/** Whom a booting machine trusts. */
import assert from "node:assert/strict";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { CertificateAuthority } from "../../deploy/local/stack/certificate_authority.ts";
import type { Booted } from "./boot_pools.ts";

/** Somebody who answers in the API server's place, with a certificate of his own making, gets no request, so no token. */
export async function checkImpostor({ host, machine }: Booted): Promise<void> {
  const authority = await CertificateAuthority.create("impostor");
  const { certificatePem: cert, keyPem: key } = await authority.issue({
    ...{ commonName: "api", use: "server", ipAddresses: [host.address] },
  });
  const heard: string[] = [];
  const server = createServer({ cert, key }, ({ headers }, response) => {
    heard.push(headers.authorization ?? "");
    response.end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, host.address, resolve));
  try {
    const url = `https://${host.address}:${(server.address() as AddressInfo).port}`;
    const stranger = await machine.run(fetchFrom(url, ""));
    assert.notEqual(stranger.exitCode, 0);
    assert.match(stranger.stderr, /Cannot fetch secret "any": .*certificate/);
    assert.deepEqual(heard, []);
    // Whom the machine is told to trust gets it: the check above could have failed.
    await machine.run(fetchFrom(url, authority.certificatePem));
    assert.deepEqual(heard, ["Bearer bait"]);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

// In a mount namespace of its own nobody else sees the changed files.
function fetchFrom(url: string, caPem: string): string[] {
  const script = `
    mkdir -p /run/impostor && cp -a /etc/ostler /run/impostor/ && mount --bind /run/impostor/ostler /etc/ostler
    sed -i "s#^API_SERVER=.*#API_SERVER=\\"$1\\"#" /etc/ostler/boot.env
    echo bait >/etc/ostler/token
    [[ -z $2 ]] || echo "$2" >/etc/ostler/ca.crt
    /opt/bin/fetch-secret any kubeconfig /run/impostor/fetched
    code=$?
    rm -r /run/impostor/fetched* 2>/dev/null
    exit $code`;
  return ["unshare", "--mount", "bash", "-c", script, "test", url, caPem];
}
