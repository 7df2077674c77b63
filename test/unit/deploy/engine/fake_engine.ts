import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { DockerApi } from "../../../../deploy/local/engine/docker_api.ts";

/** The JSON answers of the fake, by "METHOD /path" without the query; it answers other requests with 404. */
export type Answers = Readonly<Record<string, unknown>>;

/** A server on a loopback port with the parts of an engine's API that a test needs. */
export class FakeEngine implements AsyncDisposable {
  /** "METHOD /path?query", decoded, in the order of the calls. */
  readonly calls: string[] = [];
  readonly #server: Server;

  private constructor(answers: Answers) {
    this.#server = createServer((request, response) => {
      const answer = answers[this.#note(request)];
      response.writeHead(answer === undefined ? 404 : 200, { "content-type": "application/json" });
      response.end(JSON.stringify(answer ?? { message: "not faked" }));
    });
  }

  static async start(answers: Answers): Promise<FakeEngine> {
    const engine = new FakeEngine(answers);
    await new Promise<void>((resolve) => engine.#server.listen(0, "127.0.0.1", resolve));
    return engine;
  }

  get api(): DockerApi {
    return new DockerApi({ port: (this.#server.address() as AddressInfo).port });
  }

  #note({ method, url = "" }: IncomingMessage): string {
    this.calls.push(`${method} ${decodeURIComponent(url)}`);
    return `${method} ${url.split("?")[0]}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
