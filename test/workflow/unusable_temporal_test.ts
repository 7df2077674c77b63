/** Processes with an unusable Temporal: they stay up, are not ready, and log that in one line. */
import { deepEqual, equal, match } from "node:assert/strict";
import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { freePorts } from "../../deploy/local/process/free_ports.ts";
import { CertificateAuthority } from "../../deploy/local/stack/certificate_authority.ts";
import { FakeTerminal } from "../support/fake_terminal.ts";
import { eventually } from "../support/eventually.ts";
import { permissionDenied, TemporalDoor, unimplemented } from "../support/temporal_door.ts";
import { onStage } from "../support/workflow_stage.ts";

const test = onStage();

const root = fileURLToPath(new URL("../../", import.meta.url));

/** A process of Ostler, and every line that it writes. */
interface Running {
  name: string;
  lines: string[];
  port: number;
  end(): Promise<void>;
  ended: boolean;
}

interface Where {
  kubeconfig: string;
  address: string;
  namespace?: string;
  env?: Record<string, string>;
}

async function start(
  name: "controller" | "worker" | "all",
  { kubeconfig, address, namespace, env = {} }: Where,
): Promise<Running> {
  const [port = 0] = await freePorts(1);
  const child = new Deno.Command(Deno.execPath(), {
    // Several processes start concurrently; if Deno checked packages, it would print that it waits for another
    // process's check.
    args: ["run", "--node-modules-dir=manual", "--no-check", "--cached-only", "--allow-all", `workers/${name}.ts`],
    cwd: root,
    env: {
      ...{ KUBECONFIG: kubeconfig, OSTLER_LEADER_ELECT: "false", OSTLER_HEALTH_PROBE_ADDRESS: `127.0.0.1:${port}` },
      ...{ TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace ?? "default", TEMPORAL_CONFIG_FILE: "/dev/null" },
      ...env,
    },
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const running: Running = {
    ...{ name, port, lines: [], ended: false },
    end: async () => {
      if (!running.ended) child.kill("SIGKILL");
      await read;
    },
  };
  const read = (async () => {
    let text = "";
    for await (const part of child.stderr.pipeThrough(new TextDecoderStream())) {
      text += part;
      const whole = text.split("\n");
      text = whole.pop() ?? "";
      running.lines.push(...whole);
    }
    await child.status;
    running.ended = true;
  })();
  return running;
}

async function probe({ port }: Running, path: string): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`);
  await response.body?.cancel();
  return response.status;
}

/** Serves namespace kube-system, the only object that a process reads before Temporal answers. */
async function withApi(story: (kubeconfig: string) => Promise<void>): Promise<void> {
  const server: Server = createServer((_, response) => {
    const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "kube-system", uid: "uid-north" } };
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(namespace));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  using terminal = new FakeTerminal();
  const cluster = { server: url, "insecure-skip-tls-verify": true };
  const contexts = [{ name: "x", context: { cluster: "c", user: "u" } }];
  const config = { clusters: [{ name: "c", cluster }], users: [{ name: "u", user: {} }], contexts };
  terminal.write("kubeconfig", JSON.stringify({ ...config, "current-context": "x" }));
  try {
    await story(`${terminal.directory}/kubeconfig`);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

/** A starting process takes seconds of a core, and every core may be busy. */
const startMs = 180_000;

/**
 * Asserts that a process stays up, is not ready, and logs the failure once: the second attempt follows after five
 * seconds, and adds nothing.
 */
async function refused(running: Running, line: RegExp): Promise<void> {
  const { name, lines } = running;
  const answers = (): Promise<boolean> => probe(running, "/healthz").then(() => true, () => running.ended);
  await eventually(`the ${name} to answer`, answers, { withinMs: startMs });
  await eventually(`what the ${name} says`, () => lines.length > 0 || running.ended);
  await new Promise((resolve) => setTimeout(resolve, 6_000));
  equal(running.ended, false, `the ${name} ended: ${lines.join("\n")}`);
  deepEqual([await probe(running, "/healthz"), await probe(running, "/readyz")], [200, 503], name);
  equal(lines.length, 1, `${name}: ${lines.join("\n")}`);
  const { message, error } = JSON.parse(lines[0] ?? "");
  match(message, line, name);
  equal(error, undefined);
}

/** Asserts that a controller and a worker stay up, are not ready, and log this failure once. */
async function refuses(where: Where, line: RegExp): Promise<void> {
  const both = await Promise.all((["controller", "worker"] as const).map((name) => start(name, where)));
  try {
    await Promise.all(both.map((running) => refused(running, line)));
  } finally {
    await Promise.all(both.map((running) => running.end()));
  }
}

test(
  "unusable Temporal: processes stay up, are not ready, and log one line when Temporal is down or the namespace is missing",
  async (stage) => {
    await withApi(async (kubeconfig) => {
      const absent = /^Failed to reach Temporal at 127\.0\.0\.1:1: Connection refused;/;
      const typo =
        /^Failed to use namespace "typo" of .*: the namespace does not exist; .*`ostler setup --temporal-namespace typo`$/;
      await Promise.all([
        refuses({ kubeconfig, address: "127.0.0.1:1" }, absent),
        refuses({ kubeconfig, address: stage.address, namespace: "typo" }, typo),
      ]);
    });
  },
  2,
);

test(
  "unusable Temporal: processes stay up, are not ready, and log one line without permissions or with an old server",
  async (stage) => {
    const cases: [number, RegExp, RegExp][] = [
      [
        permissionDenied,
        /DescribeNamespace|Schedule/,
        /^Failed to use namespace "default" .*: Temporal refuses this process: /,
      ],
      [unimplemented, /GetSystemInfo|Schedule/, /^Failed to use namespace "default" .*: .* is older than Ostler needs/],
    ];
    await withApi(async (kubeconfig) => {
      await Promise.all(cases.map(async ([code, methods, line]) => {
        await using door = await TemporalDoor.open(stage.address);
        door.refusal = (method) => methods.test(method) ? code : undefined;
        await refuses({ kubeconfig, address: door.address }, line);
      }));
    });
  },
  2,
);

test("unusable Temporal: the webhook responds and is ready in a process with worker and webhook, of which the worker is not ready", async () => {
  const [port = 0] = await freePorts(1);
  const authority = await CertificateAuthority.create("webhook");
  const { certificatePem, keyPem } = await authority.issue({
    ...{ commonName: "webhook", use: "server", ipAddresses: ["127.0.0.1"] } as const,
  });
  using folder = new FakeTerminal();
  folder.write("tls.crt", certificatePem);
  folder.write("tls.key", keyPem);
  const env = { OSTLER_CERT_DIR: folder.directory, OSTLER_WEBHOOK_ADDRESS: `127.0.0.1:${port}` };
  await withApi(async (kubeconfig) => {
    const running = await start("all", { kubeconfig, address: "127.0.0.1:1", env });
    try {
      const isUp = (path: string): Promise<boolean> =>
        probe(running, path).then((status) => status === 200, () => false);
      await eventually("the webhook is ready", async () => running.ended || await isUp("/readyz/webhook"), {
        withinMs: startMs,
      });
      equal(running.ended, false, running.lines.join("\n"));
      using client = Deno.createHttpClient({ caCerts: [authority.certificatePem] });
      const request = { uid: "1", operation: "CREATE", object: { metadata: { name: "odd" }, spec: {} } };
      const judged = await fetch(`https://127.0.0.1:${port}/operatingsystemprofile`, {
        ...{ client, method: "POST", headers: { "content-type": "application/json" } },
        body: JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request }),
      });
      const { response } = await judged.json() as { response: { uid: string; allowed: boolean } };
      deepEqual([response.uid, response.allowed], ["1", false], "Expected the invalid profile to be denied");
      deepEqual(await Promise.all(["/healthz", "/readyz", "/readyz/worker"].map(isUp)), [true, false, false]);
    } finally {
      await running.end();
    }
  });
});
