/** The API of the simulated cloud: JSON over HTTP on loopback; tests can inject the faults of real clouds. */
import { CloudRefusal, type GroupCloud, type TemplateFields } from "./group_cloud.ts";
import type { CloudInstance } from "./group_cloud.ts";

/**
 * A fault of a call. CutBefore: the connection ends, and the call has no effect. CutAfter: the call takes effect, but
 * the connection ends without a response. Throttled: the response is 429. Broken: the response is 500. Partial: the
 * list of groups lacks the first group. Altered: the stored template has only the image.
 */
export type Fault = "CutBefore" | "CutAfter" | "Throttled" | "Broken" | "Partial" | "Altered";

export interface Call {
  method: string;
  path: string;
  /** Number of the call among all calls of this API, from 1. */
  nth: number;
}

export interface ApiOptions {
  fault?: (call: Call) => Fault | undefined;
  /** Returns for how many milliseconds the API hides a new instance. */
  lagMs?: () => number;
}

interface Answer {
  status: number;
  body: unknown;
}

/** An HTTP server for the cloud's API; dispose of it to stop it. */
export class GroupApi implements AsyncDisposable {
  readonly calls: Call[] = [];
  readonly #cloud: GroupCloud;
  readonly #options: ApiOptions;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  constructor(cloud: GroupCloud, options: ApiOptions = {}) {
    this.#cloud = cloud;
    this.#options = options;
    const handler = async (request: Request): Promise<Response> => {
      const response = await this.#answer(request);
      // With injected faults each request has its own connection, so that a cut connection fails no other request.
      if (!options.fault) response.headers.delete("connection");
      return response;
    };
    this.#server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {}, onError: cutOff }, handler);
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }

  async #answer(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const call = { method: request.method, path: pathname, nth: this.calls.length + 1 };
    this.calls.push(call);
    const fault = this.#options.fault?.(call);
    if (fault === "Throttled") return json({ status: 429, body: { says: "slow down" } });
    if (fault === "Broken") return json({ status: 500, body: { says: "it broke" } });
    if (fault === "CutBefore") return cut();
    const text = await request.text();
    const body = text === "" ? {} : JSON.parse(text) as Record<string, unknown>;
    const answer = this.#do({ call, body, fault, shrinks: searchParams.get("shrinks") === "true" });
    return fault === "CutAfter" ? cut() : json(answer);
  }

  #do(asked: { call: Call; body: Record<string, unknown>; fault: Fault | undefined; shrinks: boolean }): Answer {
    const [, kind = "", id = "", part = ""] = asked.call.path.split("/").map(decodeURIComponent);
    try {
      if (kind === "instances") return this.#onInstance(asked.call.method, id, asked.shrinks);
      if (id === "") return this.#groups(asked.fault === "Partial");
      return this.#onGroup({ ...asked, id, part });
    } catch (error) {
      if (!(error instanceof CloudRefusal)) throw error;
      return { status: error.reason === "NoCapacity" ? 409 : 422, body: { reason: error.reason, says: error.message } };
    }
  }

  #groups(isPartial: boolean): Answer {
    const all = this.#cloud.groups().map(({ templates: _, boots: __, ...group }) => group);
    return ok({ groups: isPartial ? all.slice(1) : all, isComplete: !isPartial });
  }

  #onGroup(
    { call: { method }, body, fault, id, part }: {
      call: Call;
      body: Record<string, unknown>;
      fault: Fault | undefined;
      id: string;
      part: string;
    },
  ): Answer {
    const group = this.#cloud.group(id);
    if (!group) return { status: 404, body: { says: `no group "${id}"` } };
    const { templates, boots, ...facts } = group;
    if (part === "") return ok(facts);
    if (part === "rebalancing") return ok(this.#cloud.setRebalancing(group, body["isOn"] === true));
    if (part === "templates" && method === "POST") {
      const fields = body["fields"] as TemplateFields;
      return ok(this.#cloud.addTemplate(group, fault === "Altered" ? { image: fields.image } : fields));
    }
    if (part === "templates") return ok({ templates });
    if (part === "template") return ok(method === "PUT" ? this.#cloud.useTemplate(group, String(body["id"])) : boots);
    if (method === "POST") return ok(this.#cloud.order(group, String(body["token"]), zoneIn(body)));
    return ok({ instances: this.#cloud.instances(id).filter((each) => this.#isShown(each)) });
  }

  #onInstance(method: string, providerId: string, shrinks: boolean): Answer {
    if (method === "DELETE") this.#cloud.remove(providerId, shrinks);
    const instance = this.#cloud.instance(providerId);
    if (instance && this.#isShown(instance)) return ok(instance);
    return { status: 404, body: { says: `no instance "${providerId}"` } };
  }

  #isShown({ state, since }: CloudInstance): boolean {
    return state !== "Terminated" && Date.now() >= Date.parse(since) + (this.#options.lagMs?.() ?? 0);
  }
}

function zoneIn({ zone }: Record<string, unknown>): string | undefined {
  return typeof zone === "string" ? zone : undefined;
}

function ok(body: unknown): Answer {
  return { status: 200, body };
}

function json({ status, body }: Answer): Response {
  return Response.json(body, { status, headers: { connection: "close" } });
}

/** Returns a response whose body fails, so that the client's connection ends. */
function cut(): Response {
  const body = new ReadableStream({ start: (stream) => stream.error(new Error("cut off")) });
  return new Response(body, { headers: { "content-length": "1000", connection: "close" } });
}

function cutOff(): Response {
  return new Response(null, { status: 500 });
}
