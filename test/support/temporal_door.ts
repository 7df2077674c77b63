/**
 * A proxy in front of a Temporal server. A test makes the proxy answer chosen calls itself with an error, as a server
 * would that is older or that denies the caller a permission.
 */
import { connect, createServer } from "node:http2";
import type { ClientHttp2Session, Http2Server, Http2Stream, IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";

/** gRPC status codes of the proxy. */
export const [notFound, permissionDenied, unimplemented, unauthenticated] = [5, 7, 12, 16];

export class TemporalDoor implements AsyncDisposable {
  /**
   * Returns the status for a method, such as "WorkflowService/GetSystemInfo", by caller; undefined forwards the call.
   */
  refusal: (method: string, headers: IncomingHttpHeaders) => number | undefined = () => undefined;
  /** Methods of the calls, in order. */
  readonly asked: string[] = [];
  readonly #sessions = new Set<{ destroy(): void }>();
  /** Streams in progress: those of callers, and those to the server behind the proxy. */
  readonly #calls = new Set<Http2Stream>();
  #isClosing = false;

  private constructor(private readonly server: Http2Server, private readonly behind: ClientHttp2Session) {
    behind.on("error", () => {}); // ignored: the server may close the connection first
    server.on("session", (session) => void this.#sessions.add(session));
    server.on("stream", (stream, headers) => this.#answer(stream, headers));
  }

  /** Opens a proxy before the server at "host:port". */
  static async open(address: string): Promise<TemporalDoor> {
    const door = new TemporalDoor(createServer(), connect(`http://${address}`));
    await new Promise<void>((resolve) => door.server.listen(0, "127.0.0.1", resolve));
    return door;
  }

  get address(): string {
    return `127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Closes all connections, so that pending calls are repeated. */
  async cut(): Promise<void> {
    this.#isClosing = true;
    await this.#endCalls();
    for (const session of this.#sessions) session.destroy();
    this.#sessions.clear();
    this.#isClosing = false;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cut();
    this.behind.destroy();
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
  }

  // Ends streams before their connection, because in Deno 2.9 the end of a connection with open streams can crash
  // nghttp2.
  async #endCalls(): Promise<void> {
    const ended = [...this.#calls].map((call) => new Promise((resolve) => call.once("close", resolve)));
    for (const call of this.#calls) call.close();
    await Promise.all(ended);
  }

  #follow(call: Http2Stream): void {
    this.#calls.add(call);
    call.once("close", () => void this.#calls.delete(call));
  }

  #answer(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    if (this.#isClosing) return void stream.close();
    this.#follow(stream);
    const method = String(headers[":path"]).replace(/^.*\.(?=\w+\/\w+$)/, "");
    this.asked.push(method);
    stream.on("error", () => {}); // ignored: the caller may disconnect
    const code = this.refusal(method, headers);
    if (code !== undefined) {
      const said = { "grpc-status": `${code}`, "grpc-message": `refused by the proxy` };
      stream.respond({ ":status": 200, "content-type": "application/grpc", ...said }, { endStream: true });
      return;
    }
    this.#handOn(stream, headers);
  }

  // Forwards a call, and answers the caller once the answer of the server is complete: each call of Temporal's API has
  // one request message and one response message.
  #handOn(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    const { [":authority"]: _, ...rest } = headers;
    const asked = this.behind.request(rest);
    this.#follow(asked);
    const heads: IncomingHttpHeaders[] = [];
    const body: Uint8Array[] = [];
    asked.on("error", () => stream.close());
    // Deno reports the trailers of HTTP/2 as another response.
    for (const event of ["response", "trailers"]) asked.on(event, (head: IncomingHttpHeaders) => void heads.push(head));
    asked.on("data", (data: Uint8Array) => void body.push(data));
    asked.once("close", () => {
      if (stream.destroyed) return;
      const [head = {}, trailers = {}] = heads;
      const { [":status"]: status = 200, ...fields } = head;
      const isWhole = body.length === 0 && "grpc-status" in fields;
      stream.respond({ ":status": status, ...fields }, isWhole ? { endStream: true } : { waitForTrailers: true });
      if (isWhole) return;
      stream.once("wantTrailers", () => stream.sendTrailers(trailers));
      for (const data of body) stream.write(data);
      stream.end();
    });
    stream.on("data", (data: Uint8Array) => void asked.write(data));
    stream.on("end", () => void asked.end());
    stream.once("close", () => asked.destroyed || asked.close());
  }
}
