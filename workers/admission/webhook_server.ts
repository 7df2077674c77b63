/** Answers admission reviews over HTTPS. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import { setTimeout } from "node:timers/promises";
import type { Logger } from "@temporalio/common";
import { type Admission, AdmissionReview, reviewOf, type Verdict } from "./admission_review.ts";

interface WebhookServer {
  /** The functions that validate requests, by path. */
  admissions: Record<string, Admission>;
  certificate: { cert: string; key: string };
  log: Pick<Logger, "error">;
  /**
   * Timeout of a review in milliseconds, below the API server's own timeout for the webhook, so that the message can
   * name the cause.
   */
  limitMs?: number;
  /** Maximum concurrent requests of one path; further requests are refused immediately. */
  atOnce?: number;
  /** Maximum bytes of all request bodies of one path in memory; a request whose body would exceed it is refused. */
  heldBytes?: number;
}

/** Default of `atOnce`; each review of a profile can need some MiB of memory and a process that renders templates. */
const usualAtOnce = 50;
/** Default of `heldBytes`: parsing a body needs several times its size, and a pod has a memory limit. */
const usualHeldBytes = 16 * 1024 * 1024;

/** Returns a server for HTTP/1.1, which API servers support; the caller must start to listen. */
export function createWebhookServer({
  admissions,
  certificate,
  log,
  limitMs = 8_000,
  atOnce = usualAtOnce,
  heldBytes = usualHeldBytes,
}: WebhookServer): Server {
  // Limits are per path, so that many requests about profiles neither delay requests about machines nor cause their
  // refusal.
  const judged = new Map<string, number>();
  const held = new Map(Object.keys(admissions).map((path) => [path, { bytes: 0, atMost: heldBytes }]));
  return createServer(certificate, (request, response) => {
    void answer(request, response).catch((error: unknown) => {
      log.error("Failed to answer an admission review", { error });
      response.destroy();
    });
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? "/", "https://webhook");
    const [admission, room] = [admissions[pathname], held.get(pathname)];
    if (!admission || !room) return finish(response, 404);
    if (request.method !== "POST") return finish(response, 405);
    const busy = judged.get(pathname) ?? 0;
    // Refuses before reading the body, so that thousands of requests cannot fill the memory.
    if (busy >= atOnce) return finish(response, 429);
    judged.set(pathname, busy + 1);
    using body = new HeldBody(room);
    try {
      await review(admission, { request, body }, response);
    } finally {
      judged.set(pathname, (judged.get(pathname) ?? 1) - 1);
    }
  }

  async function review(
    admission: Admission,
    { request, body }: { request: IncomingMessage; body: HeldBody },
    response: ServerResponse,
  ): Promise<void> {
    // A request whose body never ends must not count against `atOnce` for ever.
    const late = globalThis.setTimeout(() => request.destroy(), limitMs);
    const refused = await body.read(request).finally(() => clearTimeout(late));
    if (refused !== undefined) return finish(response, refused);
    const review = AdmissionReview.safeParse(parsed(body.take()));
    if (!review.success) return finish(response, 400);
    const { request: asked } = review.data;
    const verdict = await judge(admission, asked, { limitMs, log });
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(reviewOf(asked.uid, verdict)));
  }
}

async function judge(
  admission: Admission,
  asked: Parameters<Admission>[0],
  { limitMs, log }: { limitMs: number; log: WebhookServer["log"] },
): Promise<Verdict> {
  const done = new AbortController();
  const late = AbortSignal.timeout(limitMs);
  const message = `Failed to validate the object within ${limitMs / 1000} seconds; retry, or make the object smaller`;
  const tooLate = setTimeout(limitMs + 500, { denial: { code: 504, message } }, { signal: done.signal });
  tooLate.catch(() => undefined); // rejects if the review ends in time
  try {
    return await Promise.race([admission(asked, late), tooLate]);
  } catch (error) {
    log.error("Failed to validate an object", { error });
    return { denial: { code: 500, message: `Failed to validate the object: ${(error as Error).message}; retry` } };
  } finally {
    done.abort();
  }
}

function finish(response: ServerResponse, status: number): void {
  response.writeHead(status).end();
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

// The body of a request, and its share of the memory limit.

/** Bytes of all bodies in memory, and their limit. */
interface HeldBytes {
  bytes: number;
  readonly atMost: number;
}

/** Maximum bytes of a body: the API server sends the new and the old object, each of at most 3 MiB. */
const largest = 8 * 1024 * 1024;

/** The body of one request, which counts against the limit from its first byte until it is disposed. */
export class HeldBody {
  readonly #held: HeldBytes;
  #chunks: Uint8Array[] = [];
  #size = 0;
  #counted = 0;

  constructor(held: HeldBytes) {
    this.#held = held;
  }

  /** Reads the body; returns the status of a refusal if it is too large, or exceeds the memory limit. */
  async read(request: IncomingMessage): Promise<413 | 429 | undefined> {
    let isCrowded = false;
    // The rest of a refused body is read and dropped, because a client that is still writing does not read the answer.
    for await (const chunk of request as AsyncIterable<Uint8Array>) {
      this.#size += chunk.length;
      isCrowded ||= this.#held.bytes + chunk.length > this.#held.atMost;
      if (isCrowded || this.#size > largest) this.#drop();
      else this.#keep(chunk);
    }
    return this.#size > largest ? 413 : isCrowded ? 429 : undefined;
  }

  /** Returns the text of the body, once. */
  take(): string {
    const text = Buffer.concat(this.#chunks).toString("utf8");
    this.#chunks = [];
    return text;
  }

  [Symbol.dispose](): void {
    this.#drop();
  }

  #keep(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    this.#counted += chunk.length;
    this.#held.bytes += chunk.length;
  }

  #drop(): void {
    this.#chunks = [];
    this.#held.bytes -= this.#counted;
    this.#counted = 0;
  }
}
