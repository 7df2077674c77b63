import { deepEqual, equal, match } from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Check, GateVerdict } from "../../../../workflows/contracts/mod.ts";
import { ask, gate, kubeWithPool, later } from "./gate_question.ts";

type Prometheus = Extract<Check, { kind: "Prometheus" }>;
type Reply = { status?: number; headers?: Record<string, string>; body: string };

/** Answers a query with `replies` while `story` runs. */
async function serving(
  replies: (query: string) => Reply,
  story: (url: string, asked: string[]) => Promise<void>,
): Promise<void> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "", "http://local");
    asked.push(`${url.pathname} ${url.searchParams.get("query")}`);
    const { status = 200, headers = {}, body } = replies(url.searchParams.get("query") ?? "");
    response.writeHead(status, headers).end(body);
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  try {
    await story(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked);
  } finally {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  }
}

function vector(...values: string[]): Reply {
  const result = values.map((value) => ({ metric: { pod: "secret-pod" }, value: [1, value] }));
  return { body: JSON.stringify({ status: "success", data: { resultType: "vector", result } }) };
}

function check(url: string, overrides: Partial<Prometheus> = {}): Prometheus {
  return {
    ...{ kind: "Prometheus", url, query: "errors", operator: "<", threshold: 0.05, samples: null, minSamples: 0 },
    ...overrides,
  };
}

async function asking(prometheus: Prometheus, until = Date.now()): Promise<GateVerdict | undefined> {
  return (await ask(kubeWithPool(), [gate(prometheus)], { until }))[0];
}

function story(verdict: GateVerdict | undefined): string {
  return `${verdict?.outcome} ${verdict?.message.replace(/127[^"]+/, "server")}`;
}

Deno.test("lookAtPrometheus: passes after one good measurement, and reports it", async () => {
  await serving(() => vector("0.01"), async (url, asked) => {
    equal(story(await asking(check(`${url}/`), later())), "Passed measured 0.01, wanted < 0.05");
    deepEqual(asked, ["/api/v1/query errors"]);
  });
});

Deno.test("lookAtPrometheus: fails after three breaches in a row, and starts the count again after a good measurement", async () => {
  await serving(() => vector("0.5"), async (url, asked) => {
    equal(story(await asking(check(url), later())), "Failed measured 0.5, wanted < 0.05, 3 times in a row");
    equal(asked.length, 3);
  });
  const values = ["0.5", "0.5", "0.01"];
  await serving(() => vector(values.shift() ?? "0.01"), async (url, asked) => {
    equal((await asking(check(url), later()))?.outcome, "Passed");
    equal(asked.length, 3);
  });
});

Deno.test("lookAtPrometheus: fails with a single breach at the deadline", async () => {
  await serving(() => vector("0.5"), async (url) => {
    equal(story(await asking(check(url))), "Failed measured 0.5, wanted < 0.05");
  });
});

Deno.test("lookAtPrometheus: requires enough samples", async () => {
  const replies = (query: string): Reply => query === "count" ? vector("30", "12") : vector("0.5");
  await serving(replies, async (url) => {
    const few = check(url, { samples: "count", minSamples: 100 });
    equal(story(await asking(few)), "Inconclusive 42 samples, but at least 100 are required");
    const enough = check(url, { samples: "count", minSamples: 42 });
    equal(story(await asking(enough)), "Failed measured 0.5, 42 samples, wanted < 0.05");
  });
});

Deno.test("lookAtPrometheus: is Inconclusive when the query returns no series, NaN or infinity", async () => {
  const notFinite = "a value that is not a number";
  for (const [reply, why] of [[vector(), "no series"], [vector("NaN"), notFinite], [vector("+Inf"), notFinite]]) {
    await serving(() => reply as Reply, async (url) => {
      equal(story(await asking(check(url))), `Inconclusive the query returned ${why}, wanted < 0.05`);
    });
  }
});

for (
  const [operator, good, bad] of [["<", 1, 2], ["<=", 2, 3], [">", 3, 2], [">=", 2, 1]] as const
) {
  Deno.test(`lookAtPrometheus: compares with ${operator}, and fails when one of several series does not meet the threshold`, async () => {
    await serving((query) => vector(...query.split(" ")), async (url) => {
      const asked = check(url, { operator, threshold: 2, query: `${good} ${good}` });
      equal((await asking(asked))?.outcome, "Passed");
      match(story(await asking({ ...asked, query: `${good} ${bad}` })), /^Failed measured \d \(of 2 series\)/);
    });
  });
}

Deno.test("lookAtPrometheus: accepts a scalar result, and replaces {{node}}, {{machine}}, {{namespace}} and {{pool}} in the query", async () => {
  const scalar = { body: JSON.stringify({ status: "success", data: { resultType: "scalar", result: [1, "0"] } }) };
  await serving(() => scalar, async (url, asked) => {
    const query = 'up{node="{{node}}",m="{{machine}}",p="{{namespace}}/{{pool}}"}';
    equal((await asking(check(url, { query })))?.outcome, "Passed");
    deepEqual(asked, ['/api/v1/query up{node="node-a",m="a",p="fleet/pool"}']);
  });
});

Deno.test("lookAtPrometheus: never quotes an answer, and follows no redirect", async () => {
  const replies: [Reply, string][] = [
    [{ status: 500, body: "hunter2" }, '"http://server" returned HTTP 500'],
    [{ status: 302, headers: { location: "/elsewhere" }, body: "" }, '"http://server" returned HTTP 302'],
    [{ body: "hunter2" }, '"http://server" returned neither an instant vector nor a scalar'],
    [{ body: `"${"x".repeat(2_000_000)}"` }, '"http://server" returned neither an instant vector nor a scalar'],
  ];
  for (const [reply, why] of replies) {
    await serving(() => reply, async (url, asked) => {
      equal(story(await asking(check(url))), `Inconclusive not measured: ${why}`);
      equal(asked.length, 1);
    });
  }
});

Deno.test("lookAtPrometheus: is not measured for an unreachable server, and for a URL that is not http or https or contains credentials", async () => {
  const cases: [string, RegExp][] = [
    ["http://127.0.0.1:1", /"http:\/\/server" is unreachable$/],
    ["file:///etc/passwd", /the gate's url must be http or https$/],
    ["http://user:hunter2@127.0.0.1:1", /the gate's url must not contain credentials$/],
  ];
  for (const [url, why] of cases) match(story(await asking(check(url))), why);
});
