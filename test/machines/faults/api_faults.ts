/** Machines that cannot reach the API server, do not trust its certificate, or have a token that it refuses. */
import assert from "node:assert/strict";

import { CertificateAuthority } from "../../../deploy/local/stack/certificate_authority.ts";
import { FaultView } from "./fault_view.ts";
import { Impostor } from "./impostor.ts";
import type { Scene } from "./scene.ts";

const silence =
  /the machine sent no boot report: most likely it cannot reach the API server, does not trust the API server's/i;

/**
 * Expects a machine that was cut off from the API server before its first request to join by itself once it is
 * connected, and to report why it could not join before.
 */
export async function isCutOff({ world }: Scene, view: FaultView): Promise<void> {
  await world.until("tries in vain", async () => (await view.tries("bootstrap")).length >= 3, 240);
  assert.equal(await view.report(), undefined);
  assert.match(await view.explained(), silence);
  await world.site.cloud.partition(view.name, false);
  const { phase } = await view.untilReport(/before that, Cannot fetch secret cut-off-kube-system-\S+: curl: \(\d+\) /);
  assert.equal(phase, "bootstrap");
  await view.joins();
}

/**
 * Expects a machine with a wrong CA to give its token only to servers with a certificate of that CA, so not to the API
 * server. The verdict names the typical cause, and where to read more.
 */
export async function distrusts({ host, stranger }: Scene, view: FaultView): Promise<void> {
  assert.match(await view.journal("bootstrap"), /Cannot fetch secret .*: curl: \(60\) SSL certificate problem/);
  assert.equal(await view.report(), undefined);
  const told = new RegExp(
    `${silence.source}.*"journalctl -u bootstrap -u setup" on ${view.machine.address}`,
    "i",
  );
  assert.match(await view.verdict("registered"), told);
  assert.match(await view.explained(), told);
  const unknown = await CertificateAuthority.create("unknown");
  assert.deepEqual(await tokensGivenTo(host.address, unknown, view), { exitCode: 60, tokens: 0 });
  // A server whose certificate the machine trusts gets the token, which shows that tokens are counted.
  assert.deepEqual(await tokensGivenTo(host.address, stranger, view), { exitCode: 0, tokens: 1 });
}

async function tokensGivenTo(
  address: string,
  authority: CertificateAuthority,
  { machine }: FaultView,
): Promise<{ exitCode: number; tokens: number }> {
  const certificate = await authority.issue({ commonName: "kube-apiserver", use: "server", ipAddresses: [address] });
  await using impostor = await Impostor.start(address, certificate);
  // A separate mount namespace keeps the address of this server from the machine's own boot scripts, which still retry
  // and would send the token.
  const script = `
    rm -rf /run/aimed && cp -a /etc/ostler /run/aimed && mount --bind /run/aimed /etc/ostler
    sed -i "s#^API_SERVER=.*#API_SERVER=\\"$1\\"#" /etc/ostler/boot.env
    exec /opt/bin/kube-api secrets/any --output /dev/null`;
  const { exitCode } = await machine.run(["unshare", "--mount", "bash", "-c", script, "aimed", impostor.url]);
  return { exitCode, tokens: impostor.tokens };
}

/**
 * Expects a machine with an expired token to be refused, and the next machine to join, because the credentials were
 * renewed meanwhile.
 */
export async function isRefused({ world, host }: Scene, view: FaultView): Promise<void> {
  assert.match(await view.journal("bootstrap"), /Cannot fetch secret .*: curl: \(22\) .* 401/);
  assert.equal(await view.report(), undefined);
  const told = /or has an expired token; run "journalctl -u bootstrap/;
  assert.match(await view.verdict("registered"), told);
  assert.match(await view.explained(), told);
  await view.isTriedAgain();
  await world.remove(`/apis/cluster.k8s.io/v1alpha1/namespaces/kube-system/machines/${view.name}`);
  await (await FaultView.of({ world, host, pool: "expired", before: view.name })).joins();
}
