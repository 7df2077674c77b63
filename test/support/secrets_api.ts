/** An API server over TLS that has Secrets and accepts boot reports. */
import { CertificateAuthority } from "../../deploy/local/stack/certificate_authority.ts";

/** The content of a machine's boot report. */
export interface ReportLine {
  phase: string;
  step: string;
  state: string;
  message: string;
  at: string;
}

/** Answers like a real API server, because curl reads the text: pretty-printed, and with managed fields. */
export class SecretsApi implements AsyncDisposable {
  /** Values as plain text by the name of the secret, and then by key. */
  readonly secrets = new Map<string, Record<string, string>>();
  /** Boot reports with the machine's name, in order of arrival; null when the machine removed its report. */
  readonly reports: [machine: string, line: ReportLine | null][] = [];
  /** HTTP statuses that the next requests for Secrets get in place of an answer. */
  readonly refusals: number[] = [];
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  private constructor(readonly caPem: string, key: { cert: string; key: string }, readonly token: string) {
    this.#server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, ...key, onListen: () => {} },
      (request) => this.#answer(request),
    );
  }

  static async start(token: string): Promise<SecretsApi> {
    const authority = await CertificateAuthority.create("boot-test");
    const { certificatePem: cert, keyPem: key } = await authority.issue({
      commonName: "api",
      use: "server",
      ipAddresses: ["127.0.0.1"],
    });
    return new SecretsApi(authority.certificatePem, { cert, key }, token);
  }

  get url(): string {
    return `https://127.0.0.1:${this.#server.addr.port}`;
  }

  async #answer(request: Request): Promise<Response> {
    if (request.headers.get("authorization") !== `Bearer ${this.token}`) return new Response(null, { status: 401 });
    const [, kind = "", name = ""] = /\/api\/v1\/namespaces\/cloud-init-settings\/(\w+)\/([^/]+)$/.exec(request.url) ??
      [];
    if (kind === "configmaps" && request.method === "PATCH") return await this.#takeReport(request);
    const refusal = this.refusals.shift();
    const secret = this.secrets.get(name);
    if (refusal !== undefined || kind !== "secrets" || secret === undefined) {
      return new Response(null, { status: refusal ?? 404 });
    }
    const fields = Object.fromEntries(Object.keys(secret).map((key) => [`f:${key}`, {}]));
    const data = Object.fromEntries(Object.entries(secret).map(([key, text]) => [key, btoa(text)]));
    const applied = JSON.stringify({ data: Object.fromEntries(Object.keys(data).map((key) => [key, btoa("old")])) });
    const annotations = { "kubectl.kubernetes.io/last-applied-configuration": applied };
    const metadata = { name, annotations, managedFields: [{ fieldsV1: { "f:data": fields } }] };
    return new Response(JSON.stringify({ kind: "Secret", metadata, data }, null, 2));
  }

  async #takeReport(request: Request): Promise<Response> {
    if (request.headers.get("content-type") !== "application/merge-patch+json") {
      return new Response(null, { status: 415 });
    }
    const { data } = await request.json() as { data: Record<string, string | null> };
    for (const [machine, line] of Object.entries(data)) {
      this.reports.push([machine, line === null ? null : JSON.parse(line) as ReportLine]);
    }
    return new Response("{}");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }
}
