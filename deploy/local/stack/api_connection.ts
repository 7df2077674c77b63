import { KubeConfig } from "@kubernetes/client-node";
import { Agent, request, type RequestOptions } from "node:https";

interface ApiCall {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Path and query below the server's address. */
  readonly path: string;
  readonly body?: unknown;
  /** Content type of the body; default `application/json`. */
  readonly contentType?: string;
  readonly signal?: AbortSignal;
}

/** An error response of the API server; `status` is the HTTP status. */
export class ApiRefusal extends Error {
  readonly status: number;

  constructor(call: ApiCall, status: number, reason: string) {
    super(`Failed to ${call.method} "${call.path}": ${status} ${reason}`);
    this.name = "ApiRefusal";
    this.status = status;
  }
}

const callTimeoutMs = 15_000;

/**
 * Calls the API server of a kubeconfig with plain JSON over keep-alive connections. Sends each object exactly as in its
 * manifest, while the typed client drops every field that its model spells differently, such as `x-kubernetes-*`.
 */
export class ApiConnection {
  /** Path of the kubeconfig. */
  readonly kubeconfig: string;
  readonly #server: string;
  readonly #options: RequestOptions;
  readonly #agent: Agent;

  private constructor(kubeconfig: string, server: string, options: RequestOptions) {
    this.kubeconfig = kubeconfig;
    this.#server = server;
    this.#agent = new Agent({ keepAlive: true });
    this.#options = { ...options, agent: this.#agent };
  }

  /** Connects with address and identity from the current context of a kubeconfig file. */
  static async open(kubeconfigPath: string): Promise<ApiConnection> {
    const config = new KubeConfig();
    config.loadFromFile(kubeconfigPath);
    const server = config.getCurrentCluster()?.server;
    if (server === undefined) {
      throw new Error(`Invalid kubeconfig "${kubeconfigPath}": its current context names no cluster`);
    }
    const options: RequestOptions = {};
    await config.applyToHTTPSOptions(options);
    return new ApiConnection(kubeconfigPath, server, options);
  }

  /** Returns the JSON of the response; rejects with ApiRefusal for a status of 300 or above. */
  async call(call: ApiCall): Promise<unknown> {
    const { status, text } = await this.#exchange(call);
    const answer: unknown = parseJson(text);
    if (status >= 300) throw new ApiRefusal(call, status, messageOf(answer) ?? "no reason given");
    return answer;
  }

  /** Closes the keep-alive connections. */
  [Symbol.dispose](): void {
    this.#agent.destroy();
  }

  #exchange(call: ApiCall): Promise<{ status: number; text: string }> {
    const payload = call.body === undefined ? undefined : JSON.stringify(call.body);
    return new Promise((resolve, reject) => {
      const sent = request(`${this.#server}${call.path}`, this.#requestOptions(call, payload), (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on(
          "end",
          () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString("utf8") }),
        );
      });
      sent.setTimeout(
        callTimeoutMs,
        () =>
          sent.destroy(
            new Error(`Failed to ${call.method} "${call.path}": no response within ${callTimeoutMs / 1000} s`),
          ),
      );
      sent.on("error", reject);
      sent.end(payload);
    });
  }

  #requestOptions(call: ApiCall, payload: string | undefined): RequestOptions {
    const content = payload === undefined ? {} : {
      "content-type": call.contentType ?? "application/json",
      "content-length": String(Buffer.byteLength(payload)),
    };
    return {
      ...this.#options,
      method: call.method,
      headers: { ...this.#options.headers, accept: "application/json", ...content },
      ...(call.signal === undefined ? {} : { signal: call.signal }),
    };
  }
}

function messageOf(answer: unknown): string | undefined {
  if (typeof answer !== "object" || answer === null || !("message" in answer)) return undefined;
  return typeof answer.message === "string" ? answer.message : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
