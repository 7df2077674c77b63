import { ApiException } from "@kubernetes/client-node";
import { ApplicationFailure, CancelledFailure } from "@temporalio/common";
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { refused } from "../../../../activities/failures.ts";
import { attempting, ifFound, statusOf } from "../../../../activities/kube/status.ts";
import { answer } from "../../../support/fake_kube.ts";

async function sorted(error: unknown): Promise<ApplicationFailure> {
  const failure = await attempting("do it", () => Promise.reject(error)).then(() => undefined, (reason) => reason);
  ok(failure instanceof ApplicationFailure, String(failure));
  return failure;
}

const table: [number, string, boolean][] = [
  [400, "ObjectInvalid", true],
  [401, "AccessDenied", false],
  [403, "AccessDenied", false],
  [404, "ApiUnavailable", false],
  [409, "ApiUnavailable", false],
  [422, "ObjectInvalid", true],
  [429, "ApiUnavailable", false],
  [500, "ApiUnavailable", false],
  [503, "ApiUnavailable", false],
];

for (const [code, type, nonRetryable] of table) {
  Deno.test(`attempting: turns HTTP ${code} into failure ${type}, which is ${nonRetryable ? "final" : "retryable"}`, async () => {
    const failure = await sorted(answer(code, "Reason"));
    deepEqual([failure.type, failure.nonRetryable], [type, nonRetryable]);
  });
}

Deno.test("fault E14 attempting: retries after the pause that the API server asks for, at most a minute", async () => {
  const pauseOf = async (headers: Record<string, string>): Promise<unknown> =>
    (await sorted(new ApiException(429, "busy", "{}", headers))).nextRetryDelay;
  const asked = [
    { "retry-after": "30" },
    { "Retry-After": "3600" },
    { "retry-after": "0" },
    { "retry-after": "soon" },
    {},
  ];
  deepEqual(await Promise.all(asked.map(pauseOf)), [30_000, 60_000, undefined, undefined, undefined]);
});

Deno.test("fault E14 attempting: leaves the pause to the retry policy for a Retry-After up to 15 s, and waits at least 30 s for a longer one", async () => {
  const pauses = await Promise.all(
    ["1", "15", "20"].map(async (after) =>
      (await sorted(new ApiException(429, "busy", "{}", { "retry-after": after }))).nextRetryDelay
    ),
  );
  deepEqual(pauses, [undefined, undefined, 30_000]);
});

Deno.test("attempting: reports what was attempted and what the API server answered", async () => {
  const { message } = await sorted(answer(403, "Forbidden", "secrets is forbidden"));
  equal(message, "Failed to do it: HTTP 403, secrets is forbidden");
});

Deno.test("attempting: never quotes a response that may contain what was sent", async () => {
  const echo = 'Secret "s" is invalid: data: "c2VjcmV0LWJ5dGVz"';
  for (const code of [400, 409, 422, 500, 503]) {
    const failure = await sorted(answer(code, "Invalid", echo));
    equal(failure.message, `Failed to do it: HTTP ${code}, Invalid`);
    equal(JSON.stringify(failure).includes("c2VjcmV0"), false);
    equal(failure.cause, undefined);
  }
});

Deno.test("attempting: retries, and quotes, the refusal of a ValidatingAdmissionPolicy whose parameters do not exist yet", async () => {
  const policy =
    "ValidatingAdmissionPolicy 'limit-hands.ostler.dev' with binding 'limit-hands.ostler.dev' denied request";
  const said = `pods "hand" is forbidden: ${policy}: failed to configure binding: no params found for policy binding`;
  const failure = await sorted(answer(422, "Invalid", said));
  deepEqual([failure.type, failure.nonRetryable], ["AccessDenied", false]);
  equal(failure.message, `Failed to do it: HTTP 422, ${said}`);
  const judged = await sorted(answer(422, "Invalid", `pods "hand" is forbidden: ${policy}: a hand is not changed`));
  deepEqual([judged.type, judged.nonRetryable], ["ObjectInvalid", true]);
});

Deno.test("attempting: treats a patch that names the UID of an earlier object as a conflict, which is retried, although the API server answers 422", async () => {
  const said = 'Node "workers-1" is invalid: metadata.uid: Invalid value: "uid-of-before": field is immutable';
  const refusalOf = (...fields: string[]): ApiException<string> => {
    const causes = fields.map((field) => ({ reason: "FieldValueInvalid", message: "Invalid value", field }));
    const body = { kind: "Status", code: 422, reason: "Invalid", message: said, details: { causes } };
    return new ApiException(422, "Unknown API Status Code!", JSON.stringify(body), {});
  };
  const other = refusalOf("metadata.uid");
  equal(statusOf(other), 409);
  const { type, nonRetryable, message } = await sorted(other);
  deepEqual([type, nonRetryable], ["ApiUnavailable", false]);
  equal(message, "Failed to do it: HTTP 422, another object has this name now");
  for (const invalid of [refusalOf("metadata.uids", "spec.taints"), refusalOf()]) {
    equal(statusOf(invalid), 422);
    equal((await sorted(invalid)).type, "ObjectInvalid");
  }
});

Deno.test("attempting: accepts a response that is not JSON", async () => {
  const page = Object.assign(answer(502, "x"), { body: "<html>secret</html>" });
  equal((await sorted(page)).message, "Failed to do it: HTTP 502, no reason given");
});

const networkErrors = [
  Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:6443"), { code: "ECONNREFUSED" }),
  Object.assign(new Error("too slow"), { name: "TimeoutError" }),
  new TypeError("fetch failed", { cause: new Error("other side closed") }),
];

for (const error of networkErrors) {
  Deno.test(`attempting: treats "${error.message}" as an unreachable API`, async () => {
    const failure = await sorted(error);
    deepEqual([failure.type, failure.nonRetryable], ["ApiUnavailable", false]);
  });
}

Deno.test("attempting: names the cause of a failed fetch", async () => {
  equal((await sorted(networkErrors[2])).message, "Failed to do it: other side closed");
});

Deno.test("attempting: rethrows its own failures, cancellations and programming errors unchanged", async () => {
  for (const error of [refused("ProfileInvalid", "no"), new CancelledFailure("stop"), new RangeError("a bug")]) {
    await rejects(attempting("do it", () => Promise.reject(error)), (passed) => passed === error);
  }
});

Deno.test("ifFound: returns undefined for a missing object and passes everything else on", async () => {
  equal(await ifFound(Promise.resolve(7)), 7);
  equal(await ifFound(Promise.reject(answer(404, "NotFound"))), undefined);
  await rejects(ifFound(Promise.reject(answer(403, "Forbidden"))), (error) => statusOf(error) === 403);
});

Deno.test("ifFound: a 404 that a proxy before the API server sent does not count as a missing object", async () => {
  const pages = ["<html><head><title>404 Not Found</title></head></html>", "default backend - 404", "", '{"code":404}'];
  for (const page of pages) {
    const proxied = new ApiException(404, "Unknown API Status Code!", page, {});
    await rejects(ifFound(Promise.reject(proxied)), (error) => statusOf(error) === 502);
    const { type, message } = await sorted(proxied);
    deepEqual([type, message], [
      "ApiUnavailable",
      "Failed to do it: HTTP 404, but not from the API server; check the proxy or load balancer before it",
    ]);
  }
  const absentKind = new ApiException(404, "Unknown API Status Code!", "404 page not found\n", {});
  equal(await ifFound(Promise.reject(absentKind)), undefined);
});

Deno.test("attempting: rethrows a TypeError of the caller unchanged, even if it has an error code like a network error", async () => {
  const fault = Object.assign(new TypeError("The argument must be of type string"), { code: "ERR_INVALID_ARG_TYPE" });
  await rejects(attempting("do it", () => Promise.reject(fault)), fault);
  const untrusted = Object.assign(new Error("altname"), { code: "ERR_TLS_CERT_ALTNAME_INVALID" });
  equal((await sorted(untrusted)).type, "ApiUnavailable");
});
