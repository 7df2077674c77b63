import { type IncomingMessage, request } from "node:http";

/** Options of a call; the default timeout is 60 s. */
interface CallOptions {
  readonly timeoutMs?: number;
}

/** An error response of the engine, with its HTTP status and reason. */
export class DockerRefusal extends Error {
  override readonly name = "DockerRefusal";
  readonly status: number;
  /** The reason in the engine's response. */
  readonly reason: string;

  constructor(call: string, status: number, reason: string) {
    super(`Failed to ${call}: the engine returned ${status} "${reason}"`);
    this.status = status;
    this.reason = reason;
  }
}

const defaultTimeoutMs = 60_000;

/** The HTTP API of a Docker engine on a unix socket or a port, in the version that the engine prefers. */
export class DockerApi {
  readonly #address: { readonly socketPath: string } | { readonly port: number };

  constructor(address: string | { readonly port: number }) {
    this.#address = typeof address === "string" ? { socketPath: address } : address;
  }

  /**
   * Returns the parsed response; throws DockerRefusal if the status is 400 or above, and the error of the socket or of
   * the timeout if no response arrives.
   */
  get<T>(path: string, options?: CallOptions): Promise<T> {
    return this.#call<T>({ method: "GET", path }, options);
  }

  /** Sends a POST request; a body of bytes is sent unchanged, any other body as JSON. */
  post<T>(path: string, body?: unknown, options?: CallOptions): Promise<T> {
    return this.#call<T>({ method: "POST", path, body }, options);
  }

  /** Sends a DELETE request; an absent object counts as deleted. */
  async delete(path: string, options?: CallOptions): Promise<void> {
    await this.#call({ method: "DELETE", path }, options).catch((error: unknown) => {
      if (!(error instanceof DockerRefusal && error.status === 404)) throw error;
    });
  }

  async #call<T>({ method, path, body }: Call, { timeoutMs = defaultTimeoutMs }: CallOptions = {}): Promise<T> {
    const payload = body === undefined || body instanceof Uint8Array ? body : JSON.stringify(body);
    const type = body instanceof Uint8Array ? "application/x-tar" : "application/json";
    const signal = AbortSignal.timeout(timeoutMs);
    const answer = await new Promise<Answer>((resolve, reject) => {
      const headers = { host: "docker", ...(payload === undefined ? {} : { "content-type": type }) };
      const call = request({ ...this.#address, method, path, headers, signal, agent: false });
      call.once("response", (response) => readAnswer(response).then(resolve, reject));
      call.once(
        "error",
        (error) => reject(signal.aborted ? new Error(`no response within ${timeoutMs / 1000} s`) : error),
      );
      call.end(payload);
    });
    if (answer.status >= 400) throw new DockerRefusal(`${method} "${path}"`, answer.status, messageOf(answer));
    return (answer.isJson ? JSON.parse(answer.text) : answer.text) as T;
  }
}

interface Call {
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: string;
  readonly body?: unknown;
}

interface Answer {
  readonly status: number;
  readonly isJson: boolean;
  readonly text: string;
}

async function readAnswer(response: IncomingMessage): Promise<Answer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of response) chunks.push(chunk as Uint8Array);
  const text = Buffer.concat(chunks).toString("utf8");
  const isJson = (response.headers["content-type"] ?? "").startsWith("application/json") && text.trim() !== "";
  return { status: response.statusCode ?? 0, isJson, text };
}

function messageOf({ isJson, text }: Answer): string {
  if (!isJson) return text.trim();
  return (JSON.parse(text) as { message?: string }).message ?? text.trim();
}
