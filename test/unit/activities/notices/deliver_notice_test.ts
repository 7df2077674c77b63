import type { ApplicationFailure } from "@temporalio/common";
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deliverNotice } from "../../../../activities/notices/deliver_notice.ts";
import type { Notice, NoticeTarget } from "../../../../workflows/contracts/mod.ts";

const pool = { cluster: "north", namespace: "fleet", name: "workers" };
const notice: Notice = {
  ...{ id: "n-1", kind: "Halted", at: "2026-01-01T10:00:00Z", reason: "GateFailed", revision: "4", image: "img-4" },
  message: 'error rate is 3 % "now", <!channel>',
};

interface Received {
  path: string;
  type: string | null;
  body: unknown;
}

interface Receiver {
  received: Received[];
  /** Writes a file of the Secret, and returns its path. */
  file: (name: string, text: string) => Promise<string>;
  url: string;
}

/** Runs `test` with a receiver of notifications that responds with what `answer` returns. */
async function receiving(answer: () => Response, test: (receiver: Receiver) => Promise<void>): Promise<void> {
  const received: Received[] = [];
  const folder = await mkdtemp(join(tmpdir(), "ostler-notice-"));
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
    const { pathname } = new URL(request.url);
    received.push({ path: pathname, type: request.headers.get("content-type"), body: await request.json() });
    return answer();
  });
  const file = async (name: string, text: string): Promise<string> => {
    const path = join(folder, name);
    await writeFile(path, text);
    return path;
  };
  try {
    await test({ received, file, url: `http://127.0.0.1:${server.addr.port}/services/hunter2` });
  } finally {
    await server.shutdown();
    await rm(folder, { recursive: true });
  }
}

const accepted = (): Response => new Response("ok");
const nothing = { webhook: "", template: "", cloudEvents: "" };

async function failureOf(
  files: Partial<typeof nothing>,
  target: NoticeTarget = "Webhook",
): Promise<ApplicationFailure> {
  const given = await deliverNotice({ ...nothing, ...files }, { pool, notice, target }).then(
    () => undefined,
    (error) => error,
  );
  ok(given, "it fails");
  return given;
}

Deno.test("deliverNotice: sends a webhook the JSON that Slack accepts, and escapes mentions such as <!channel>", async () => {
  await receiving(accepted, async ({ received, file, url }) => {
    const webhook = await file("webhook", `${url}\n`);
    await deliverNotice({ ...nothing, webhook }, { pool, notice, target: "Webhook" });
    deepEqual(received, [{
      path: "/services/hunter2",
      type: "application/json",
      body: {
        text:
          'Rollout fleet/workers of north is halted until an administrator acts (GateFailed: error rate is 3 % "now", ' +
          "&lt;!channel&gt;)",
      },
    }]);
  });
});

Deno.test("deliverNotice: replaces placeholders only within the strings of a custom template, so the result is valid JSON", async () => {
  await receiving(accepted, async ({ received, file, url }) => {
    const text = { blocks: [{ type: "section", text: "*{{kind}}* {{pool}} {{message}} {{unknown}}" }], n: 1 };
    const files = { webhook: await file("webhook", url), template: await file("template", JSON.stringify(text)) };
    await deliverNotice({ ...nothing, ...files }, { pool, notice, target: "Webhook" });
    const filled = '*Halted* workers error rate is 3 % "now", &lt;!channel&gt; {{unknown}}';
    deepEqual(received.map(({ body }) => body), [{ blocks: [{ type: "section", text: filled }], n: 1 }]);
  });
});

Deno.test("deliverNotice: sends a CloudEvent with the ID, type and time of the notification", async () => {
  await receiving(accepted, async ({ received, file, url }) => {
    await deliverNotice({ ...nothing, cloudEvents: await file("events", url) }, {
      pool,
      notice,
      target: "CloudEvents",
    });
    equal(received[0]?.type, "application/cloudevents+json");
    const { id: _, at: __, ...said } = notice;
    deepEqual(received[0]?.body, {
      ...{ specversion: "1.0", id: "n-1", source: "/clusters/north/namespaces/fleet/machinedeployments/workers" },
      ...{ type: "dev.ostler.rollout.halted", subject: "fleet/workers", time: "2026-01-01T10:00:00Z" },
      ...{ datacontenttype: "application/json", data: { ...pool, ...said } },
    });
  });
});

Deno.test("deliverNotice: names the Rollout as source of a CloudEvent about a ScalingGroup", async () => {
  await receiving(accepted, async ({ received, file, url }) => {
    const group = { namespace: "kube-system", name: "scaling-group.alpha", kind: "ScalingGroup" } as const;
    const files = { ...nothing, cloudEvents: await file("events", url) };
    await deliverNotice(files, { pool: group, notice, target: "CloudEvents" });
    const { source } = received[0]?.body as { source: string };
    equal(source, "/namespaces/kube-system/rollouts/scaling-group.alpha");
  });
});

Deno.test("deliverNotice: retries an unreachable or refusing receiver, unless the refusal is final", async () => {
  for (const [status, isLasting] of [[500, false], [429, false], [404, false], [400, true], [413, true]] as const) {
    await receiving(() => new Response("no", { status }), async ({ file, url }) => {
      const failure = await failureOf({ webhook: await file("webhook", url) });
      const state = `the receiver responded HTTP ${status}`;
      const message = `Failed to deliver notification "Halted" of "fleet/workers" to the webhook: ${state}`;
      // Only one failure is counted of a notification that is not retried, so its alert needs a type of its own.
      const type = isLasting ? "NoticeRefused" : "NoticeUndelivered";
      deepEqual([failure.message, failure.nonRetryable, failure.type], [message, isLasting, type]);
    });
  }
});

Deno.test("deliverNotice: follows no redirect", async () => {
  const elsewhere: string[] = [];
  const other = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, () => {
    elsewhere.push("asked");
    return new Response("ok");
  });
  const location = `http://127.0.0.1:${other.addr.port}/`;
  await receiving(() => new Response("", { status: 307, headers: { location } }), async ({ file, url }) => {
    match((await failureOf({ webhook: await file("webhook", url) })).message, /HTTP 307$/);
  });
  await other.shutdown();
  deepEqual(elsewhere, []);
});

Deno.test("deliverNotice: shows the address of the webhook in no failure", async () => {
  await receiving(accepted, async ({ file }) => {
    const wrong: [string, RegExp][] = [
      ["http://127.0.0.1:1/services/hunter2", /the receiver is unreachable$/],
      ["file:///etc/hunter2", /does not contain an http or https URL$/],
      ["hunter2", /does not contain an http or https URL$/],
      ["", /does not contain an http or https URL$/],
    ];
    for (const [text, said] of wrong) {
      const failure = await failureOf({ webhook: await file("webhook", text) });
      match(failure.message, said);
      equal(
        JSON.stringify([failure.message, failure.stack, failure.cause, failure.details]).includes("hunter2"),
        false,
      );
    }
    match((await failureOf({ webhook: "/nowhere/url" })).message, /"\/nowhere\/url" cannot be read: ENOENT$/);
    match((await failureOf({}, "CloudEvents")).message, /this worker has no file with the receiver's URL$/);
    const broken = { webhook: await file("webhook", "http://127.0.0.1:1/"), template: await file("template", "{") };
    match((await failureOf(broken)).message, /template "[^"]+" is not valid JSON$/);
  });
});
