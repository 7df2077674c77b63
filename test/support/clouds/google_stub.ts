/**
 * The parts of Google's Compute Engine that the driver uses, over HTTP, with the simulated cloud as their state.
 * Written from Google's published description and not run against the real cloud. Where that description is unclear,
 * the double takes the reading that is worst for the driver.
 */
import type { GroupCloud } from "../../../deploy/local/cloud/groups/group_cloud.ts";
import type { Befalls } from "../driver_conformance.ts";
import { type GoogleConditions, GoogleGround, GoogleNo, project, urlOf } from "./google_ground.ts";
import { GoogleMachinesStub } from "./google_machines.ts";
import { GoogleManagersStub } from "./google_managers.ts";
import { type Asked, faultsOfAnswer, faultsOfRequest } from "./described/google.ts";
import { type GoogleRequest, GoogleWrong, judge } from "./google_requests.ts";

interface Operation {
  scope: string;
  failed: GoogleNo | undefined;
}

/** A server that answers like Google; disposing of it fails if it got an invalid request. */
export class GoogleStub implements AsyncDisposable {
  /** Actions in the order of the requests. */
  readonly calls: string[] = [];
  readonly ground: GoogleGround;
  /** Returns the fault of the nth call, counted from 1. */
  fault: (nth: number, action: string) => Befalls | undefined = () => undefined;
  readonly #wrong: string[] = [];
  readonly #operations: Operation[] = [];
  readonly #managers: GoogleManagersStub;
  readonly #machines: GoogleMachinesStub;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  constructor(cloud: GroupCloud, conditions: GoogleConditions) {
    this.ground = new GoogleGround(cloud, conditions);
    this.#managers = new GoogleManagersStub(this.ground);
    this.#machines = new GoogleMachinesStub(this.ground);
    const onError = (): Response => new Response(null, { status: 500 });
    const handler = (request: Request): Promise<Response> => this.#answer(request);
    this.#server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {}, onError }, handler);
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}/`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
    if (this.#wrong.length > 0) throw new Error(`Google would refuse: ${this.#wrong.join("; ")}`);
  }

  async #answer(request: Request): Promise<Response> {
    return this.#served({ method: request.method, url: request.url, text: await request.text() });
  }

  #served(request: Asked): Response {
    try {
      const asked = judge(request);
      this.#wrong.push(...faultsOfRequest(request));
      this.calls.push(asked.action);
      const fault = this.fault(this.calls.length, asked.action);
      if (fault === "CutBefore") return cut();
      if (fault === "Throttled") return no(new GoogleNo(403, "rateLimitExceeded", "Rate Limit Exceeded"));
      if (fault === "Broken") return no(new GoogleNo(503, "backendError", "it broke"));
      const answer = this.#done(asked, request);
      return fault === "CutAfter" ? cut() : answer;
    } catch (error) {
      this.#wrong.push(error instanceof Error ? error.message : String(error));
      return no(new GoogleNo(400, "invalid", "wrong"));
    }
  }

  #done(asked: GoogleRequest, request: Asked): Response {
    try {
      const answer = this.#do(asked);
      this.#wrong.push(...faultsOfAnswer(request, answer).map((fault) => `wrong answer of the double: ${fault}`));
      return json(200, answer);
    } catch (error) {
      if (error instanceof GoogleNo) return no(error);
      throw error;
    }
  }

  #do(asked: GoogleRequest): unknown {
    const [managers, machines] = [this.#managers, this.#machines];
    const verbs: Record<string, () => unknown> = {
      ...{ "GET groups": () => managers.groups(asked), "GET group": () => managers.group(asked) },
      "PATCH group": () => this.#begun(asked, () => managers.patch(asked)),
      "POST members": () => managers.members(asked),
      "POST configs": () => managers.configs(asked),
      "POST create": () => this.#begun(asked, () => managers.create(asked)),
      "POST delete": () => this.#begun(asked, () => managers.delete(asked)),
      "GET autoscalers": () => managers.autoscalers(asked),
      "GET autoscaler": () => managers.autoscaler(asked),
      "GET template": () => machines.template(asked),
      "GET templates": () => machines.templates(asked),
      "DELETE template": () => this.#begun(asked, () => machines.deleteTemplate(asked)),
      "POST template": () => this.#begun(asked, () => machines.insert(asked)),
      "GET machine": () => machines.machine(asked),
      ...{ "GET machines": () => machines.machines(asked), "GET disks": () => machines.disks(asked) },
      "GET operation": () => this.#ended(asked),
    };
    return verbs[asked.action]?.();
  }

  /** Changes the cloud at once, and returns an operation, from which a client has to read the result. */
  #begun({ scope }: GoogleRequest, change: () => void): object {
    const operation: Operation = { scope, failed: undefined };
    try {
      change();
    } catch (error) {
      const { saysNoIn = "Answer" } = this.ground.conditions;
      if (!(error instanceof GoogleNo) || saysNoIn === "Answer") throw error;
      operation.failed = error;
    }
    this.#operations.push(operation);
    return { ...this.#shown(this.#operations.length), status: "RUNNING" };
  }

  #ended({ scope, name }: GoogleRequest): object {
    const number = Number(name.slice(name.lastIndexOf("-") + 1));
    const operation = this.#operations[number - 1];
    if (operation?.scope !== scope) throw new GoogleWrong(`no operation ${name} in ${scope}`);
    const { failed } = operation;
    // The codes of errors in operations have another form than those in responses.
    const code = failed?.reason.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
    const error = failed ? { error: { errors: [{ code, message: failed.message }] } } : {};
    return { ...this.#shown(number), status: "DONE", ...error };
  }

  #shown(number: number): object {
    const [kind, where] = (this.#operations[number - 1]?.scope ?? "").split("/");
    const at = where === undefined
      ? {}
      : { [kind === "zones" ? "zone" : "region"]: urlOf(`projects/${project}/${kind}/${where}`) };
    return { kind: "compute#operation", id: "5", name: `operation-${number}`, ...at };
  }
}

function json(status: number, body: unknown): Response {
  return Response.json(body, { status, headers: { connection: "close" } });
}

function no({ status: code, reason, message }: GoogleNo): Response {
  return json(code, { error: { code, message, errors: [{ message, domain: "global", reason }] } });
}

/** An interrupted body, so that the client sees its connection end. */
function cut(): Response {
  const body = new ReadableStream({ start: (stream) => stream.error(new Error("cut off")) });
  return new Response(body, { headers: { "content-length": "1000", connection: "close" } });
}
