/** The API key of Temporal changes while workers run, and Temporal then refuses the previous key. */
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readTemporalServer } from "../../activities/temporal/temporal_server.ts";
import { followAccess } from "../../workers/follow_access.ts";
import { LazyClient } from "../../workers/temporal_client.ts";
import { eventually } from "../support/eventually.ts";
import { TemporalDoor, unauthenticated } from "../support/temporal_door.ts";
import { onStage } from "../support/workflow_stage.ts";

const test = onStage();

/**
 * A file with an API key, as from a mounted Secret, and the variables that name it; TLS is off, because the proxy has
 * none.
 */
class MountedKey implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), "ostler-key-"));
  readonly #path = join(this.#folder, "key");

  write(key: string): void {
    writeFileSync(this.#path, `${key}\n`);
  }

  environment(address: string): Record<string, string> {
    return { TEMPORAL_ADDRESS: address, TEMPORAL_API_KEY_PATH: this.#path, TEMPORAL_TLS: "false" };
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true });
  }
}

function clientOf(env: Record<string, string>): LazyClient {
  return new LazyClient(readTemporalServer(env), () => readTemporalServer(env).access);
}

test("API key: workers continue when the key changes while they run, and Temporal refuses the old key", async (stage) => {
  await using door = await TemporalDoor.open(stage.address);
  let keys = ["first"];
  door.refusal = (_, { authorization = "" }) =>
    keys.some((key) => authorization === `Bearer ${key}`) ? undefined : unauthenticated;
  using file = new MountedKey();
  file.write("first");
  const env = file.environment(door.address);
  const server = readTemporalServer(env);
  const client = clientOf(env);
  const ended = new AbortController();
  const said: string[] = [];
  const log = { info: (text: string) => void said.push(text), warn: (text: string) => void said.push(text) };
  await stage.stopWorker();
  try {
    await rejects(clientOf({ ...env, TEMPORAL_API_KEY_PATH: "", TEMPORAL_API_KEY: "another" }).get());
    const first = await client.connection();
    const at = await stage.startWorker({ connection: first });
    const following = followAccess(client, { server, workers: () => at, log, signal: ended.signal, lookEvery: 50 });
    equal((await (await stage.rollOut(stage.pool({ replicas: 3 }))).result()).outcome, "Converged");

    // A key that Temporal does not accept yet changes nothing.
    file.write("second");
    await eventually("the refusal of a key too early", () => said.length === 1);
    match(said[0] ?? "", /^Failed to reload Temporal credentials; keeping the current connection: /);
    ok(!said.join().includes("second"), "Expected no key in the output");
    equal(await client.connection(), first);

    keys = ["first", "second"];
    await eventually("another connection", async () => await client.connection() !== first);
    deepEqual(at.map(({ connection }) => connection === first), [false, false]);
    const goesOn = await stage.rollOut(stage.pool({ replicas: 3 }));
    keys = ["second"];
    await door.cut();
    equal((await goesOn.result()).outcome, "Converged");
    equal(said.at(-1), "Connected to Temporal with reloaded credentials");
    await rejects(clientOf({ ...env, TEMPORAL_API_KEY_PATH: "", TEMPORAL_API_KEY: "first" }).get());
    ended.abort();
    await following;
  } finally {
    ended.abort();
    await stage.stopWorker();
    await client.close();
    // Tests of other files share this Temporal server, and need a running worker.
    await stage.startWorker();
  }
});
