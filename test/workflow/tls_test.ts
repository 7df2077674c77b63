/** A Temporal that wants TLS and a certificate of who asks is reached by the variables of its other tools. */
import { equal, rejects } from "node:assert/strict";
import { connect } from "node:net";
import { createServer } from "node:tls";
import type { AddressInfo } from "node:net";
import type { Server } from "node:tls";
import { CertificateAuthority } from "../../deploy/local/stack/certificate_authority.ts";
import type { KeyedCertificate } from "../../deploy/local/stack/certificate_authority.ts";
import { LazyClient } from "../../workers/temporal_client.ts";
import { readTemporalServer } from "../../activities/temporal/temporal_server.ts";
import { onStage } from "../support/workflow_stage.ts";
import type { Stage } from "../support/workflow_stage.ts";

const test = onStage();

interface Guarded {
  port: number;
  ca: string;
  client: KeyedCertificate;
}

/** With a door before the stage's server that opens to certificates of one authority only. */
async function withDoor(stage: Stage, story: (guarded: Guarded) => Promise<void>): Promise<void> {
  const authority = await CertificateAuthority.create("temporal-ca");
  const own = await authority.issue({ commonName: "temporal", use: "server", dnsNames: ["temporal.example"] });
  const door = await openDoor(stage.address, authority.certificatePem, own);
  try {
    const client = await authority.issue({ commonName: "ostler", use: "client" });
    await story({ port: (door.address() as AddressInfo).port, ca: authority.certificatePem, client });
  } finally {
    door.close();
  }
}

async function openDoor(address: string, ca: string, { certificatePem, keyPem }: KeyedCertificate): Promise<Server> {
  const [host = "", port] = address.split(":");
  const options = { cert: certificatePem, key: keyPem, ca, requestCert: true, ALPNProtocols: ["h2"] };
  const door = createServer(options, (caller) => {
    const server = connect(Number(port), host);
    for (const [one, other] of [[caller, server], [server, caller]] as const) {
      one.pipe(other);
      one.on("error", () => other.destroy());
      one.on("close", () => other.destroy());
    }
  });
  await new Promise<void>((resolve) => door.listen(0, "127.0.0.1", resolve));
  return door;
}

function environmentOf({ port, ca, client }: Guarded): Record<string, string> {
  return {
    TEMPORAL_ADDRESS: `127.0.0.1:${port}`,
    TEMPORAL_TLS_SERVER_NAME: "temporal.example",
    TEMPORAL_TLS_SERVER_CA_CERT_DATA: ca,
    TEMPORAL_TLS_CLIENT_CERT_DATA: client.certificatePem,
    TEMPORAL_TLS_CLIENT_KEY_DATA: client.keyPem,
  };
}

test("a process of ours connects over TLS, with a certificate of its own", async (stage) => {
  await withDoor(stage, async (guarded) => {
    const client = new LazyClient(readTemporalServer(environmentOf(guarded)));
    const { namespaceInfo } = await (await client.get()).workflowService.describeNamespace({ namespace: "default" });
    equal(namespaceInfo?.name, "default");
    await client.close();
    const { TEMPORAL_ADDRESS } = environmentOf(guarded);
    await rejects(new LazyClient(readTemporalServer({ TEMPORAL_ADDRESS })).get(), "a door that stands open");
  });
});
