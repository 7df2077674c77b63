/**
 * A Temporal that requires TLS and client certificates: Ostler connects with the variables of Temporal's own tools,
 * also after certificates have changed.
 */
import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readTemporalServer } from "../../activities/temporal/temporal_server.ts";
import { authorityOf, TlsDoor } from "../../deploy/local/installation/tls_door.ts";
import type { KeyedCertificate } from "../../deploy/local/stack/certificate_authority.ts";
import { followAccess } from "../../workers/follow_access.ts";
import { LazyClient } from "../../workers/temporal_client.ts";
import { eventually } from "../support/eventually.ts";
import { onStage } from "../support/workflow_stage.ts";

const test = onStage();

function environmentOf(
  { port }: TlsDoor,
  ca: string,
  { certificatePem, keyPem }: KeyedCertificate,
): Record<string, string> {
  return {
    TEMPORAL_ADDRESS: `127.0.0.1:${port}`,
    TEMPORAL_TLS_SERVER_NAME: "temporal.example",
    TEMPORAL_TLS_SERVER_CA_CERT_DATA: ca,
    TEMPORAL_TLS_CLIENT_CERT_DATA: certificatePem,
    TEMPORAL_TLS_CLIENT_KEY_DATA: keyPem,
  };
}

function clientOf(env: Record<string, string>): LazyClient {
  return new LazyClient(readTemporalServer(env), () => readTemporalServer(env).access);
}

/** Files like those of a mounted Secret, and the environment variables that name them. */
class MountedSecret implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), "ostler-tls-"));

  write(files: Partial<Record<"ca.crt" | "tls.crt" | "tls.key", string>>): void {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(this.#folder, name), text);
  }

  environment(port: number): Record<string, string> {
    return {
      TEMPORAL_ADDRESS: `127.0.0.1:${port}`,
      TEMPORAL_TLS_SERVER_NAME: "temporal.example",
      TEMPORAL_TLS_SERVER_CA_CERT_PATH: join(this.#folder, "ca.crt"),
      TEMPORAL_TLS_CLIENT_CERT_PATH: join(this.#folder, "tls.crt"),
      TEMPORAL_TLS_CLIENT_KEY_PATH: join(this.#folder, "tls.key"),
    };
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true });
  }
}

test("TLS: a process of Ostler connects with a client certificate", async (stage) => {
  const { name, authority } = await authorityOf("temporal-ca");
  const door = await TlsDoor.open({ behind: stage.address, own: { name, authority } });
  const env = environmentOf(door, authority.certificatePem, await authority.issue({ commonName: "us", use: "client" }));
  const client = clientOf(env);
  const { namespaceInfo } = await (await client.get()).workflowService.describeNamespace({ namespace: "default" });
  equal(namespaceInfo?.name, "default");
  await client.close();
  await rejects(clientOf({ TEMPORAL_ADDRESS: env["TEMPORAL_ADDRESS"] ?? "" }).get(), "an open proxy");
  await door.close();
});

test("TLS: workers continue when certificates, keys and authorities change while they run, and Temporal refuses the old certificates", async (stage) => {
  const before = await authorityOf("old-ca");
  const after = await authorityOf("new-ca");
  const [oldCa, newCa] = [before.authority.certificatePem, after.authority.certificatePem];
  const old = await before.authority.issue({ commonName: "ostler", use: "client" });
  const fresh = await after.authority.issue({ commonName: "ostler", use: "client" });
  using secret = new MountedSecret();
  secret.write({ "ca.crt": oldCa, "tls.crt": old.certificatePem, "tls.key": old.keyPem });
  let door = await TlsDoor.open({ behind: stage.address, own: before });
  const { port } = door;
  const env = secret.environment(port);
  const server = readTemporalServer(env);
  const client = new LazyClient(server, () => readTemporalServer(env).access);
  const ended = new AbortController();
  const said: string[] = [];
  const log = { info: (text: string) => void said.push(text), warn: (text: string) => void said.push(text) };
  await stage.stopWorker();
  try {
    const first = await client.connection();
    const at = await stage.startWorker({ connection: first });
    const following = followAccess(client, { server, workers: () => at, log, signal: ended.signal, lookEvery: 50 });
    const begun = stage.pool({ replicas: 3 });
    const run = await stage.rollOut(begun);

    // The key is still the old one and does not match the new certificate, and the proxy still uses the old authority.
    secret.write({ "ca.crt": `${oldCa}${newCa}`, "tls.crt": fresh.certificatePem });
    await eventually("the refusal of an incomplete change", () => said.length === 1);
    match(said[0] ?? "", /^Failed to reload Temporal credentials; keeping the current connection: /);
    equal(await client.connection(), first);
    equal((await run.result()).outcome, "Converged");

    await door.close();
    door = await TlsDoor.open({ behind: stage.address, own: after, port });
    const goesOn = await stage.rollOut(stage.pool({ replicas: 3 }));
    secret.write({ "tls.key": fresh.keyPem });
    equal((await goesOn.result()).outcome, "Converged");
    equal(await client.connection() === first, false);
    equal(said.at(-1), "Connected to Temporal with reloaded credentials");
    deepEqual(at.map(({ connection }) => connection === first), [false, false]);
    await rejects(clientOf(environmentOf(door, newCa, old)).get(), "a proxy that accepts old certificates");
    ended.abort();
    await following;
  } finally {
    ended.abort();
    await stage.stopWorker();
    await client.close();
    await door.close();
    // The tests of other files share this stage and need its worker.
    await stage.startWorker();
  }
});
