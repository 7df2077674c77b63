/** The servers that a booting machine trusts. */
import assert from "node:assert/strict";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { CertificateAuthority } from "../../deploy/local/stack/certificate_authority.ts";
import type { Booted } from "./boot_pools.ts";

/**
 * Expects a machine to send no request, and so no token, to an impostor in the API server's place, whose certificate
 * the machine does not trust.
 */
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
    // A trusted server gets the token, so the check above can fail.
    await machine.run(fetchFrom(url, authority.certificatePem));
    assert.deepEqual(heard, ["Bearer bait"]);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

// Returns a command that fetches a Secret from a server. It changes files in a separate mount namespace, so that no
// other process sees the changes.
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
