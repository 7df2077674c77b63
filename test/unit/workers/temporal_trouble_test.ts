import { ServiceError } from "@temporalio/client";
import { NamespaceNotFoundError } from "@temporalio/common";
import { equal, ok, rejects } from "node:assert/strict";
import { askTemporal, TemporalTrouble, temporalTrouble } from "../../../workers/temporal_trouble.ts";
import { grpcStatus } from "../../support/grpc_status.ts";

const place = { address: "there:7233", namespace: "fleet" };

function told(error: unknown): string {
  const trouble = temporalTrouble(place, error);
  ok(trouble instanceof TemporalTrouble, String(trouble));
  return trouble.message;
}

function transportError(message: string): Error {
  return Object.assign(new Error(message), { name: "TransportError" });
}

const wrapped = (error: Error): Error => new ServiceError("Failed to describe schedule", { cause: error });

Deno.test("temporalTrouble: reports a missing namespace, and how to create it", () => {
  const text = 'Failed to use namespace "fleet" of Temporal at there:7233: the namespace does not exist; ' +
    "set --temporal-namespace (TEMPORAL_NAMESPACE), or create it with `ostler setup --temporal-namespace fleet`";
  equal(told(new NamespaceNotFoundError("fleet")), text);
  equal(told(wrapped(grpcStatus(5, "Namespace fleet is not found."))), text);
});

Deno.test("temporalTrouble: distinguishes missing permissions from an old server, even if the first request is refused", () => {
  const denied = "Failed to call GetSystemInfo: code: 'The caller does not have permission to execute the specified " +
    `operation', message: "no"`;
  for (const error of [grpcStatus(7, "no"), wrapped(grpcStatus(16, "no")), transportError(denied)]) {
    equal(
      told(error).startsWith(
        `Failed to use namespace "fleet" of Temporal at there:7233: Temporal refuses this process: "no"; `,
      ),
      true,
    );
  }
  const unknown =
    `Failed to call GetSystemInfo: code: 'Operation is not implemented or not supported', message: "what?"`;
  for (const error of [grpcStatus(12, "what?"), transportError(unknown)]) {
    ok(
      told(error).includes('the server does not support the request: "what?"; the server is older than Ostler needs'),
      told(error),
    );
  }
});

Deno.test("temporalTrouble: describes a connection failure in one line", () => {
  const refused = `tonic::transport::Error(Transport, Os { code: 111, message: "Connection refused" })\nat here`;
  equal(told(transportError(refused)), "Failed to reach Temporal at there:7233: Connection refused; retrying");
  equal(told(grpcStatus(14, "")), "Failed to reach Temporal at there:7233: no reason given; retrying");
});

Deno.test("askTemporal: passes on errors that are not from Temporal", async () => {
  equal(await askTemporal(place, () => Promise.resolve(1)), 1);
  const bug = new TypeError("x is not a function");
  await rejects(askTemporal(place, () => Promise.reject(bug)), bug);
});
