/** A door before a Temporal server that answers some requests itself: as one that grants less, or is older, would. */
import { connect, createServer } from "node:http2";
import type { ClientHttp2Session, Http2Server, IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";

/** gRPC's numbers of what a door says. */
export const [notFound, permissionDenied, unimplemented, unauthenticated] = [5, 7, 12, 16];

export class TemporalDoor implements AsyncDisposable {
  /** What is answered to a method, such as "WorkflowService/GetSystemInfo", by who asks; undefined lets it through. */
  refusal: (method: string, headers: IncomingHttpHeaders) => number | undefined = () => undefined;
  /** Methods that came, in order. */
  readonly asked: string[] = [];
  readonly #sessions = new Set<{ destroy(): void }>();

  private constructor(private readonly server: Http2Server, private readonly behind: ClientHttp2Session) {
    behind.on("error", () => {}); // the server went first
    server.on("session", (session) => void this.#sessions.add(session));
    server.on("stream", (stream, headers) => this.#answer(stream, headers));
  }

  /** Opens one before the server at "host:port". */
  static async open(address: string): Promise<TemporalDoor> {
    const door = new TemporalDoor(createServer(), connect(`http://${address}`));
    await new Promise<void>((resolve) => door.server.listen(0, "127.0.0.1", resolve));
    return door;
  }

  get address(): string {
    return `127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Cuts off who is connected, so that what waits for an answer is asked anew. */
  cut(): void {
    for (const session of this.#sessions) session.destroy();
    this.#sessions.clear();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.behind.destroy();
    this.cut();
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
  }

  #answer(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    const method = String(headers[":path"]).replace(/^.*\.(?=\w+\/\w+$)/, "");
    this.asked.push(method);
    stream.on("error", () => {}); // the caller went away
    const code = this.refusal(method, headers);
    if (code !== undefined) {
      const said = { "grpc-status": `${code}`, "grpc-message": `said by the door` };
      stream.respond({ ":status": 200, "content-type": "application/grpc", ...said }, { endStream: true });
      return;
    }
    this.#handOn(stream, headers);
  }

  // Every request has one message and one answer, so that answers can be handed on when they are whole.
  #handOn(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    const { [":authority"]: _, ...rest } = headers;
    const asked = this.behind.request(rest);
    const heads: IncomingHttpHeaders[] = [];
    const body: Uint8Array[] = [];
    asked.on("error", () => stream.close());
    // Deno tells of trailers as of another response.
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
