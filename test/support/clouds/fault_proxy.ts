/** A proxy that interrupts calls by number: before they are done, afterwards, or with an error response. */
import type { Befalls } from "../driver_conformance.ts";

export class FaultProxy implements AsyncDisposable {
  calls = 0;
  /** Returns the fault of the nth call, counted from 1. */
  fault: (nth: number) => Befalls | undefined = () => undefined;
  /** Receives the body of each call, before the call is forwarded or interrupted. */
  onBody: (body: string, request: Request) => void = () => {};
  /** Receives the body of each successful answer, and the body of its call. */
  onAnswer: (answer: string, body: string, request: Request) => void = () => {};
  readonly #to: string;
  readonly #failure: (fault: "Throttled" | "Broken", request: Request) => Response;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  constructor(to: string, failure: (fault: "Throttled" | "Broken", request: Request) => Response) {
    this.#to = to;
    this.#failure = failure;
    const handler = (request: Request): Promise<Response> => this.#answer(request);
    const onError = (): Response => new Response(null, { status: 500 });
    this.#server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {}, onError }, handler);
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }

  async #answer(request: Request): Promise<Response> {
    const body = await request.text();
    this.onBody(body, request);
    const fault = this.fault(++this.calls);
    if (fault === "CutBefore") return cut();
    if (fault === "Throttled" || fault === "Broken") return this.#failure(fault, request);
    const { pathname, search } = new URL(request.url);
    const headers = new Headers(request.headers);
    headers.delete("host");
    const answer = await fetch(`${this.#to}${pathname}${search}`, { method: request.method, headers, body });
    const text = await answer.text();
    if (answer.ok) this.onAnswer(text, body, request);
    if (fault === "CutAfter") return cut();
    const type = answer.headers.get("content-type") ?? "text/xml";
    return new Response(text, { status: answer.status, headers: { "content-type": type, connection: "close" } });
  }
}

/** An interrupted body, so that the client sees its connection end. */
function cut(): Response {
  const body = new ReadableStream({ start: (stream) => stream.error(new Error("cut off")) });
  return new Response(body, { headers: { "content-length": "1000", connection: "close" } });
}
