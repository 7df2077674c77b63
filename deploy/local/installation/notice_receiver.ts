/** A receiver of notifications: a webhook on this host with a secret URL, which `moveOn` changes. */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { freePorts } from "../process/free_ports.ts";

/** A notification in the format of `noticeTemplate`. */
interface ToldNotice {
  id: string;
  kind: string;
  pool: string;
  image: string;
}

/** The template of the webhook's payload. */
export const noticeTemplate = JSON.stringify({ id: "{{id}}", kind: "{{kind}}", pool: "{{pool}}", image: "{{image}}" });

export class NoticeReceiver implements AsyncDisposable {
  /** All accepted notifications in the order of their arrival; a notification to an earlier secret URL is refused. */
  readonly told: ToldNotice[] = [];
  #path = newPath();

  private constructor(private readonly server: Server, readonly host: string, readonly port: number) {}

  /** Starts to listen on an address of this host. */
  static async open(host: string): Promise<NoticeReceiver> {
    const [port = 0] = await freePorts(1);
    const server = createServer();
    const receiver = new NoticeReceiver(server, host, port);
    server.on("request", (request, response) => {
      void receiver.#take(request).then((status) => void response.writeHead(status).end(), () => response.destroy());
    });
    server.listen(port, host);
    await once(server, "listening");
    return receiver;
  }

  /** Returns the current secret URL. */
  get url(): string {
    return `http://${this.host}:${this.port}${this.#path}`;
  }

  /** Changes the secret URL; the previous one is no longer accepted. */
  moveOn(): void {
    this.#path = newPath();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.closeAllConnections();
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
  }

  async #take(request: IncomingMessage): Promise<number> {
    let text = "";
    for await (const part of request.setEncoding("utf8")) text += part;
    if (request.url !== this.#path) return 404;
    this.told.push(JSON.parse(text));
    return 200;
  }
}

function newPath(): string {
  return `/${randomBytes(12).toString("hex")}`;
}
