import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { Agent, request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import { CertificateAuthority } from "../../../../deploy/local/stack/certificate_authority.ts";
import type { Admission } from "../../../../workers/admission/admission_review.ts";
import { keepServing } from "../../../../workers/admission/certificate/keep_serving.ts";
import { readCertificate } from "../../../../workers/admission/certificate/certificate_source.ts";
import { createWebhookServer } from "../../../../workers/admission/webhook_server.ts";
import { eventually } from "../../../support/eventually.ts";
import { deployment, request as asked } from "./review_objects.ts";

interface Answer {
  status: number;
  body: string;
  /** Common name of the certificate that the server presented. */
  name: string;
}

const quiet = { info: () => {}, warn: () => {}, error: () => {} };

/** A webhook server on a free port, which reads its certificate from `folder`, and a client that trusts `authority`. */
class Scene {
  readonly #agent: Agent;

  private constructor(
    readonly folder: string,
    readonly authority: CertificateAuthority,
    readonly server: ReturnType<typeof createWebhookServer>,
  ) {
    // Connections are not reused, so that each request gets the current certificate.
    this.#agent = new Agent({ ca: authority.certificatePem, keepAlive: false, maxCachedSessions: 0 });
  }

  static async open(
    admissions: Record<string, Admission>,
    limitMs = 5_000,
    atOnce = 50,
    heldBytes = 2 ** 24,
  ): Promise<Scene> {
    const folder = await mkdtemp(join(tmpdir(), "ostler-webhook-"));
    const authority = await CertificateAuthority.create("test");
    await writeCertificate(folder, authority, "first");
    const certificate = await readCertificate(folder);
    const server = createWebhookServer({ admissions, certificate, log: quiet, limitMs, atOnce, heldBytes });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
    return new Scene(folder, authority, server);
  }

  send(path: string, body: string, method = "POST"): Promise<Answer> {
    const { port } = this.server.address() as { port: number };
    return new Promise((resolve, reject) => {
      const sent = request({ host: "127.0.0.1", port, path, method, agent: this.#agent }, (response) => {
        const name = (response.socket as TLSSocket).getPeerCertificate().subject.CN;
        let text = "";
        response.on("data", (chunk) => text += String(chunk));
        response.on("end", () => resolve({ status: response.statusCode ?? 0, body: text, name: String(name) }));
      });
      sent.on("error", reject);
      sent.end(body);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#agent.destroy();
    await new Promise((resolve) => this.server.close(resolve));
    await rm(this.folder, { recursive: true });
  }
}

async function writeCertificate(folder: string, authority: CertificateAuthority, commonName: string): Promise<void> {
  const { certificatePem, keyPem } = await authority.issue({ commonName, use: "server", ipAddresses: ["127.0.0.1"] });
  await Promise.all([
    writeFile(join(folder, "tls.crt"), certificatePem),
    writeFile(join(folder, "tls.key"), keyPem),
  ]);
}

/** Returns whether a client that trusts only this authority accepts the certificate. */
function isTrusted(port: number, { certificatePem: ca }: CertificateAuthority): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ host: "127.0.0.1", port, ca }, () => resolve(true));
  socket.on("error", () => resolve(false));
  return promise.finally(() => socket.destroy());
}

function reviewText(request: object = asked(deployment())): string {
  return JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request });
}

Deno.test("webhook server: answers a review over HTTPS with its uid, a patch in base64 and warnings", async () => {
  const patch = [{ op: "add" as const, path: "/metadata/annotations", value: { a: "b" } }];
  await using scene = await Scene.open({ "/judge": () => Promise.resolve({ patch, warnings: ["mind this"] }) });
  const { status, body } = await scene.send("/judge?timeout=10s", reviewText());
  equal(status, 200);
  const { apiVersion, kind, response } = JSON.parse(body) as { apiVersion: string; kind: string; response: object };
  deepEqual([apiVersion, kind], ["admission.k8s.io/v1", "AdmissionReview"]);
  deepEqual(response, {
    ...{ uid: "uid-1", allowed: true, warnings: ["mind this"], patchType: "JSONPatch" },
    patch: Buffer.from(JSON.stringify(patch)).toString("base64"),
  });
});

Deno.test("webhook server: a denial has code, reason and message", async () => {
  await using scene = await Scene.open({
    "/judge": () => Promise.resolve({ denial: { code: 422, message: "Cannot: no" } }),
  });
  const { response } = JSON.parse((await scene.send("/judge", reviewText())).body) as { response: object };
  deepEqual(response, {
    ...{ uid: "uid-1", allowed: false },
    status: { status: "Failure", code: 422, reason: "Invalid", message: "Cannot: no" },
  });
});

Deno.test("webhook server: answers with an HTTP error a request that is not an AdmissionReview, or that has an unknown path", async () => {
  await using scene = await Scene.open({ "/judge": () => Promise.resolve({}) });
  const sent: [string, string, string?][] = [
    ...[["/other", reviewText()], ["/judge", "{"], ["/judge", "{}"], ["/judge", "", "GET"]] as [string, string][],
    ["/judge", JSON.stringify({ apiVersion: "admission.k8s.io/v1beta1", kind: "AdmissionReview", request: {} })],
    ["/judge", " ".repeat(9 * 1024 * 1024)],
  ];
  const statuses = [];
  for (const [path, body, method] of sent) statuses.push((await scene.send(path, body, method)).status);
  deepEqual(statuses, [404, 400, 400, 405, 400, 413]);
});

Deno.test("webhook server: denies the object with the message of a check that failed, and asks for a retry", async () => {
  await using scene = await Scene.open({ "/judge": () => Promise.reject(new Error("Failed to read profile")) });
  const { body } = await scene.send("/judge", reviewText());
  match(body, /"allowed":false.*"code":500.*Failed to validate the object: Failed to read profile; retry/);
});

Deno.test("webhook server: cancels a slow check, and denies with 504 even if the check does not stop", async () => {
  let wasCalledOff = false;
  await using scene = await Scene.open({
    "/judge": async (_, signal) => {
      signal.addEventListener("abort", () => wasCalledOff = true);
      return await new Promise(() => {});
    },
  }, 20);
  const { body } = await scene.send("/judge", reviewText());
  match(body, /"allowed":false.*"code":504.*Failed to validate the object within 0.02 seconds/);
  equal(wasCalledOff, true);
});

Deno.test("webhook server: serves a renewed certificate without a restart, and ignores an invalid one", async () => {
  await using scene = await Scene.open({ "/judge": () => Promise.resolve({}) });
  const stop = new AbortController();
  const warnings: string[] = [];
  const certificate = await readCertificate(scene.folder);
  const log = { ...quiet, warn: (message: string) => void warnings.push(message) };
  const { server, folder } = scene;
  const source = { look: () => readCertificate(folder), tell: () => Promise.resolve(true) };
  const restMs = { soon: 2, usual: 2 };
  const following = keepServing({ server, source, restMs }, certificate, { log, signal: stop.signal });
  equal((await scene.send("/judge", reviewText())).name, "first");
  await writeFile(join(folder, "tls.crt"), "nothing");
  await eventually("a warning", () => warnings.length > 0);
  equal((await scene.send("/judge", reviewText())).name, "first");
  await writeCertificate(folder, scene.authority, "second");
  await eventually("the new one", async () => (await scene.send("/judge", reviewText())).name === "second");
  stop.abort();
  await following;
});

Deno.test("webhook server: reads its certificate again when a client does not trust it, but not once for each client", async () => {
  await using scene = await Scene.open({ "/judge": () => Promise.resolve({}) });
  const { server, folder } = scene;
  const stop = new AbortController();
  const certificate = await readCertificate(folder);
  let looks = 0;
  const look = (): ReturnType<typeof readCertificate> => {
    looks++;
    return readCertificate(folder);
  };
  const source = { look, tell: () => Promise.resolve(true) };
  const serving = { server, source, restMs: { soon: 50, usual: 3_600_000 } };
  const following = keepServing(serving, certificate, { log: quiet, signal: stop.signal });
  await eventually("a look", () => looks === 1);
  const other = await CertificateAuthority.create("another");
  await writeCertificate(folder, other, "second");
  const { port } = server.address() as { port: number };
  const calls = Array.from({ length: 20 }, () => isTrusted(port, other));
  deepEqual(new Set(await Promise.all(calls)), new Set([false]));
  await eventually("trust", () => isTrusted(port, other));
  equal(looks <= 4, true, `${looks} looks`);
  stop.abort();
  await following;
});

Deno.test("webhook server: logs a failure to configure the API server once, and again only after a success", async () => {
  await using scene = await Scene.open({});
  const stop = new AbortController();
  const warnings: string[] = [];
  const certificate = await readCertificate(scene.folder);
  let asked = 0;
  const tell = (): Promise<boolean> => {
    asked++;
    return asked === 5 ? Promise.resolve(true) : Promise.reject(new Error("forbidden"));
  };
  const source = { look: () => Promise.resolve(certificate), tell };
  const log = { ...quiet, warn: (message: string) => void warnings.push(message) };
  const serving = { server: scene.server, source, restMs: { soon: 1, usual: 1 } };
  const following = keepServing(serving, certificate, { log, signal: stop.signal });
  await eventually("ten tries", () => asked >= 10);
  stop.abort();
  await following;
  equal(warnings.length, 2);
});

Deno.test("webhook server: refuses a missing certificate, and a certificate that does not match the key", async () => {
  const folder = await mkdtemp(join(tmpdir(), "ostler-webhook-"));
  try {
    await rejects(readCertificate(folder), { message: `Failed to use the certificate in "${folder}": ENOENT` });
    const authority = await CertificateAuthority.create("test");
    await writeCertificate(folder, authority, "one");
    const { keyPem } = await authority.issue({ commonName: "other", use: "server" });
    await writeFile(join(folder, "tls.key"), keyPem);
    await rejects(readCertificate(folder), /tls.crt and tls.key do not match/);
  } finally {
    await rm(folder, { recursive: true });
  }
});

Deno.test("webhook server: answers 429 immediately to requests above the limit of a path, while other paths still work", async () => {
  let release = (): void => {};
  const held = new Promise<void>((resolve) => release = resolve);
  let began = 0;
  await using scene = await Scene.open(
    {
      "/slow": async () => {
        began++;
        await held;
        return {};
      },
      "/quick": () => Promise.resolve({}),
    },
    5_000,
    2,
  );
  const waiting = [1, 2].map(() => scene.send("/slow", reviewText()));
  await eventually("both checks to begin", () => began === 2);
  equal((await scene.send("/slow", reviewText())).status, 429);
  equal((await scene.send("/quick", reviewText())).status, 200);
  release();
  deepEqual((await Promise.all(waiting)).map(({ status }) => status), [200, 200]);
  equal((await scene.send("/slow", reviewText())).status, 200);
});

Deno.test("webhook server: request bodies of one path do not use the memory of another path, so reviews of profiles cannot block others", async () => {
  const { promise, resolve: release } = Promise.withResolvers<object>();
  let began = 0;
  const slow = (): Promise<object> => (began++, promise);
  const text = reviewText();
  const room = Math.ceil(text.length * 1.5);
  await using scene = await Scene.open({ "/slow": slow, "/quick": () => Promise.resolve({}) }, 5_000, 50, room);
  const waiting = scene.send("/slow", text);
  await eventually("one check to begin", () => began === 1);
  equal((await scene.send("/slow", text)).status, 429);
  equal((await scene.send("/quick", text)).status, 200);
  release({});
  equal((await waiting).status, 200);
});

Deno.test("webhook server: accepts another request after a client disconnects during its request", async () => {
  await using scene = await Scene.open({ "/judge": () => Promise.resolve({}) }, 5_000, 1);
  const { port } = scene.server.address() as { port: number };
  const { authority } = scene;
  const cut = request({
    ...{ host: "127.0.0.1", port, path: "/judge", method: "POST", headers: { "content-length": "1000" } },
    ...{ ca: authority.certificatePem, agent: false },
  });
  cut.on("error", () => {});
  cut.write("{");
  await eventually("its space to be taken", async () => (await scene.send("/judge", reviewText())).status === 429);
  cut.destroy();
  await eventually("its space to be free", async () => (await scene.send("/judge", reviewText())).status === 200);
});
