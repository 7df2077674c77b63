/** An API server that answers any number of requests on a connection until a fault; it records each request. */
import { KubeConfig } from "@kubernetes/client-node";
import { Buffer } from "node:buffer";
import { createServer } from "node:tls";
import type { Server, TLSSocket } from "node:tls";
import { CertificateAuthority } from "../../deploy/local/stack/certificate_authority.ts";

/**
 * The fault of a request: the connection breaks ("break"), ends ("end"), or breaks within the head or body of the
 * response; any other text is sent as the response.
 */
export type Fault = "break" | "end" | "break in head" | "break in body" | string;

const answered = response(200, {}, JSON.stringify({ metadata: { name: "x", namespace: "y" } }));

export class FaultyApi {
  /** "verb path" of every complete request, and its number on its connection. */
  readonly seen: { request: string; nth: number }[] = [];
  /** The faults of the next requests, one each; requests after these succeed. */
  faults: Fault[] = [];
  readonly #sockets = new Set<TLSSocket>();

  private constructor(private readonly ca: string, private readonly server: Server) {
    server.on("secureConnection", (socket) => this.#serve(socket));
  }

  static async start(): Promise<FaultyApi> {
    const authority = await CertificateAuthority.create("test");
    const issued = await authority.issue({ commonName: "server", use: "server", ipAddresses: ["127.0.0.1"] });
    const server = createServer({ cert: issued.certificatePem, key: issued.keyPem });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new FaultyApi(authority.certificatePem, server);
  }

  get url(): string {
    const { port } = this.server.address() as { port: number };
    return `https://127.0.0.1:${port}`;
  }

  get config(): KubeConfig {
    const config = new KubeConfig();
    const caData = Buffer.from(this.ca).toString("base64");
    const cluster = { name: "c", server: this.url, caData, skipTLSVerify: false };
    config.loadFromClusterAndUser(cluster, { name: "u", token: "t" });
    return config;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
  }

  #serve(socket: TLSSocket): void {
    this.#sockets.add(socket);
    socket.on("error", () => {}); // the error of a connection that a fault broke on purpose
    let [text, nth] = ["", 0];
    socket.on("data", (data: Uint8Array) => {
      text += Buffer.from(data).toString("latin1");
      for (let whole = lengthOf(text); whole > 0; whole = lengthOf(text)) {
        const [verb, path] = text.split(" ");
        text = text.slice(whole);
        this.seen.push({ request: `${verb} ${path?.split("?")[0]}`, nth: ++nth });
        meet(socket, this.faults.shift());
      }
    });
  }
}

/** The text of a response. */
export function response(status: number, headers: Record<string, string>, body = "{}"): string {
  const all = { "Content-Type": "application/json", "Content-Length": String(body.length), ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} Said`, ...lines, "", body].join("\r\n");
}

function meet(socket: TLSSocket, fault: Fault | undefined): void {
  if (fault === "break") return void socket.destroy();
  if (fault === "end") return void socket.end();
  if (fault === "break in head") return void socket.write("HTTP/1.1 201 Cre", () => socket.destroy());
  if (fault === "break in body") return void socket.write(answered.slice(0, -5), () => socket.destroy());
  socket.write(fault ?? answered);
}

/** Characters of the first request in a text; 0 while it is incomplete. */
function lengthOf(text: string): number {
  const head = text.indexOf("\r\n\r\n");
  const length = Number(/content-length: (\d+)/i.exec(text.slice(0, head))?.[1] ?? 0);
  return head === -1 || text.length < head + 4 + length ? 0 : head + 4 + length;
}
