/**
 * The few requests that Ostler sends to etcd's JSON gateway (https://etcd.io/docs/latest/dev-guide/api_grpc_gateway/).
 *
 * No library is used: npm's `etcd3` is hardly maintained, and brings gRPC and retries of its own, while a request that
 * changes members must be sent only once.
 */
import type { z } from "zod";
import type { EtcdAccess } from "./access.ts";
import { Alarms, Done, MemberList, Status } from "./answers.ts";
import { ask } from "./exchange.ts";
import { EtcdFault } from "./fault.ts";
import { decimalOf } from "./member_id.ts";

export class EtcdConnection {
  readonly #access: EtcdAccess;

  constructor(access: EtcdAccess) {
    this.#access = access;
  }

  /**
   * Lists the members. A linearizable request returns the list that the quorum agrees on, and learners refuse it; any
   * other request returns the list of the queried member, which may be outdated.
   */
  async members(endpoint: string, linearizable: boolean, signal?: AbortSignal): Promise<MemberList> {
    return await this.#ask(MemberList, { endpoint, path: "/v3/cluster/member/list", body: { linearizable }, signal });
  }

  /** Returns a member's own status, also without a quorum. */
  async status(endpoint: string): Promise<Status> {
    return await this.#ask(Status, { endpoint, path: "/v3/maintenance/status", body: {} });
  }

  /** Lists the alarms that the quorum agrees on. */
  async alarms(endpoint: string): Promise<z.infer<typeof Alarms>["alarms"]> {
    const body = { action: "GET" };
    return (await this.#ask(Alarms, { endpoint, path: "/v3/maintenance/alarm", body })).alarms;
  }

  /** Moves the leadership to a member; only the leader's own endpoint accepts this. */
  async transferLeadership(endpoint: string, to: string): Promise<void> {
    await this.#ask(Done, { endpoint, path: "/v3/maintenance/transfer-leadership", body: { targetID: numberOf(to) } });
  }

  async remove(endpoint: string, id: string): Promise<void> {
    await this.#ask(Done, { endpoint, path: "/v3/cluster/member/remove", body: { ID: numberOf(id) } });
  }

  async promote(endpoint: string, id: string): Promise<void> {
    await this.#ask(Done, { endpoint, path: "/v3/cluster/member/promote", body: { ID: numberOf(id) } });
  }

  async #ask<Answer extends z.ZodType>(answer: Answer, question: Asked): Promise<z.infer<Answer>> {
    const read = answer.safeParse(await ask({ ...question, credentials: this.#access.credentials }));
    if (read.success) return read.data;
    throw new EtcdFault("Odd", `"${question.endpoint}" did not send a valid etcd response to ${question.path}`);
  }
}

interface Asked {
  endpoint: string;
  path: string;
  body: object;
  signal?: AbortSignal | undefined;
}

function numberOf(id: string): string {
  const decimal = decimalOf(id);
  if (decimal !== undefined) return decimal;
  throw new EtcdFault("NotFound", `"${id}" is not a member ID`);
}
