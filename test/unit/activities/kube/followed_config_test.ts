/** A kubeconfig file that changes under a process: requests, open watches, and a file that is invalid for a while. */
import { deepEqual, equal, match, ok, throws } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { connectKube, type Kube, loadKubeConfig, pooled } from "../../../../activities/kube/client.ts";
import { FollowedConfig } from "../../../../activities/kube/followed_config.ts";
import { KubeConfig } from "../../../../activities/kube/client_node.ts";
import { HttpsWatch } from "../../../../activities/kube/https_watch.ts";
import { eventually } from "../../../support/eventually.ts";
import { startTlsServer, type TlsServer } from "../../deploy/cloud/tls_server.ts";

/** An API server that accepts one token, and records its requests. */
class Door implements AsyncDisposable {
  allowed = "one";
  readonly seen: string[] = [];
  readonly streams: ServerResponse[] = [];
  readonly said: string[] = [];
  #server!: TlsServer;
  #directory = "";

  static async open(): Promise<Door> {
    const door = new Door();
    door.#directory = await mkdtemp(join(tmpdir(), "ostler-config-"));
    door.#server = await startTlsServer((request, response) => {
      const token = request.headers.authorization?.replace("Bearer ", "") ?? "";
      door.seen.push(`${request.method} ${token}`);
      const isIn = token === door.allowed;
      response.writeHead(isIn ? 200 : 401, { "content-type": "application/json" });
      if (isIn && request.url?.includes("watch=true")) return void door.streams.push(response.on("error", () => {}));
      response.end(JSON.stringify(isIn ? { kind: "Secret", metadata: { name: "s" } } : { reason: "Unauthorized" }));
    });
    await door.write("one");
    return door;
  }

  get path(): string {
    return join(this.#directory, "kubeconfig");
  }

  async write(token: string, text?: string): Promise<void> {
    const caData = Buffer.from(this.#server.ca).toString("base64");
    const config = {
      ...{ apiVersion: "v1", kind: "Config", "current-context": "c" },
      clusters: [{ name: "c", cluster: { server: this.#server.url, "certificate-authority-data": caData } }],
      users: [{ name: "u", user: { token } }],
      contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    };
    await writeFile(this.path, text ?? JSON.stringify(config));
  }

  /** Writes the token to a file of its own, and returns clients of a config that names this file, as in a pod. */
  async kubeInPod(token: string): Promise<Kube> {
    const tokenFile = join(this.#directory, "token");
    await writeFile(tokenFile, token);
    const config = new KubeConfig();
    const caData = Buffer.from(this.#server.ca).toString("base64");
    config.loadFromClusterAndUser(
      { name: "c", server: this.#server.url, caData, skipTLSVerify: false },
      { name: "u", authProvider: { name: "tokenFile", config: { tokenFile } } },
    );
    return connectKube(pooled(config));
  }

  get told(): { warn: (line: string) => void; info: (line: string) => void } {
    return { warn: (line) => void this.said.push(line), info: (line) => void this.said.push(line) };
  }

  kube(): Kube {
    return connectKube(loadKubeConfig(this.path, undefined, { file: this.told }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.streams.forEach((stream) => stream.destroy());
    await this.#server[Symbol.asyncDispose]();
    await rm(this.#directory, { recursive: true });
  }
}

const secret = { namespace: "n", name: "s" };

Deno.test("followed config: repeats a request that got HTTP 401 with the new token of the file, so a token rotation fails no request", async () => {
  await using door = await Door.open();
  const { core } = door.kube();
  await core.readNamespacedSecret(secret);
  await door.write("two");
  door.allowed = "two";
  equal((await core.createNamespacedSecret({ namespace: "n", body: {} })).metadata?.name, "s");
  deepEqual(door.seen, ["GET one", "POST one", "POST two"]);
  equal(door.said.length, 1);
});

Deno.test("followed config: uses the token of the current user's tokenFile, and the new one after a rotation", async () => {
  await using door = await Door.open();
  const write = async (token: string): Promise<void> => await writeFile(join(dirname(door.path), "mine"), `${token}\n`);
  await write("one");
  const other = '{"name":"other","user":{"tokenFile":"absent"}},';
  const text = (await readFile(door.path, "utf8")).replace('"token":"one"', '"tokenFile":"mine"');
  await door.write("", text.replace('"users":[', `"users":[${other}`));
  const { core } = door.kube();
  await core.readNamespacedSecret(secret);
  await write("two");
  door.allowed = "two";
  await core.readNamespacedSecret(secret);
  deepEqual(door.seen, ["GET one", "GET one", "GET two"]);
});

Deno.test("in a pod: repeats a request that got HTTP 401 with the new token of the mounted file, although the client keeps a token for a minute", async () => {
  await using door = await Door.open();
  const { core } = await door.kubeInPod("one");
  await core.readNamespacedSecret(secret);
  await door.kubeInPod("two");
  door.allowed = "two";
  equal((await core.createNamespacedSecret({ namespace: "n", body: {} })).metadata?.name, "s");
  door.allowed = "three";
  equal(await core.readNamespacedSecret(secret).then(() => 200, (error) => error.code), 401);
  deepEqual(door.seen, ["GET one", "POST one", "POST two", "GET two"]);
});

Deno.test("followed config: returns HTTP 401 without repeating the request when the file has no new token", async () => {
  await using door = await Door.open();
  door.allowed = "another";
  const { code } = await door.kube().core.readNamespacedSecret(secret).then(() => ({ code: 0 }), (error) => error);
  deepEqual([code, door.seen], [401, ["GET one"]]);
});

Deno.test("followed config: keeps the previous content while the file is invalid, and logs that once", async () => {
  await using door = await Door.open();
  const config = new FollowedConfig(door.path, door.told);
  for (const text of ["{", "", "kind: Config", "{"]) {
    await door.write("", text);
    config.revision({ atOnce: true });
    config.revision({ atOnce: true });
  }
  equal(config.getCurrentUser()?.token, "one");
  equal(door.said.length, 3);
  ok(door.said.every((line) => line.includes("keeping the previous")), door.said.join());
  await door.write("two");
  equal(config.revision({ atOnce: true }), 1);
  equal(config.getCurrentUser()?.token, "two");
  ok(!door.said.join().includes("two"));
});

Deno.test("followed config: keeps the previous API server until a restart when the file names another, which may belong to another cluster", async () => {
  await using door = await Door.open();
  const config = new FollowedConfig(door.path, door.told);
  const text = (await readFile(door.path, "utf8")).replace(/https:[^"]+/, "https://another:6443");
  await door.write("", text);
  equal(config.revision({ atOnce: true }), 0);
  match(
    door.said.join(),
    /it now names API server "https:\/\/another:6443", which requires a restart; keeping the previous/,
  );
});

Deno.test("followed config: ends an open watch soon after its credentials were replaced", async () => {
  await using door = await Door.open();
  const config = pooled(new FollowedConfig(door.path)) as FollowedConfig;
  const ends: unknown[] = [];
  const events: string[] = [];
  const watch = new HttpsWatch(config);
  const tell = (): void => void door.streams.at(-1)?.write(`${JSON.stringify({ type: "BOOKMARK", object: {} })}\n`);
  const follow = watch.watch("/api/v1/nodes", {}, (type) => void events.push(type), (error) => void ends.push(error));
  await eventually("a stream", () => door.streams.length === 1);
  tell();
  await follow;
  await eventually("an event", () => events.length === 1);
  deepEqual(ends, []);
  await door.write("two");
  config.revision({ atOnce: true });
  tell();
  await eventually("its end", () => ends.length === 1);
  deepEqual([events.length, ends], [2, [null]]);
});

Deno.test("followed config: the error for an unusable file has the path of the file, but nothing of its content", async () => {
  await using door = await Door.open();
  await door.write("", "token: secret");
  throws(() => loadKubeConfig(door.path), { message: /Failed to read kubeconfig ".*kubeconfig": / });
  throws(() => loadKubeConfig("/no/such"), { message: 'Failed to read kubeconfig "/no/such": ENOENT' });
});
