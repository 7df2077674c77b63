/** Answers admission reviews over HTTPS. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import { setTimeout } from "node:timers/promises";
import type { Logger } from "@temporalio/common";
import { type Admission, AdmissionReview, reviewOf, type Verdict } from "./admission_review.ts";

interface WebhookServer {
  /** By path. */
  admissions: Record<string, Admission>;
  certificate: { cert: string; key: string };
  log: Pick<Logger, "error">;
  /** Below the webhook's own timeout at the API server, so that it is us who say what took long. */
  limitMs?: number;
  /** Requests of one path that are judged at the same time; more are refused at once. */
  atOnce?: number;
  /** Bytes of bodies of one path that are held at the same time; who brings more is refused. */
  heldBytes?: number;
}

/** By default: a profile's judgement takes its bodies, of some MiB, and a template engine. */
const usualAtOnce = 50;
/** By default: what is made of a body takes several times as much, and a pod has a limit. */
const usualHeldBytes = 16 * 1024 * 1024;

/** A server that is not listening yet; HTTP/1.1, which the API server speaks too. */
export function createWebhookServer({
  admissions,
  certificate,
  log,
  limitMs = 8_000,
  atOnce = usualAtOnce,
  heldBytes = usualHeldBytes,
}: WebhookServer): Server {
  // Of each path, so that profiles cannot keep machines waiting, nor have them let through unseen.
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
    // Before the body is read: who comes by the thousand must not fill the memory.
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
    // Who sends no end must not keep the place.
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
  const message = `Failed to validate the object within ${limitMs / 1000} seconds: retry, or make it smaller`;
  const tooLate = setTimeout(limitMs + 500, { denial: { code: 504, message } }, { signal: done.signal });
  tooLate.catch(() => undefined); // it was in time
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

// The body of a request, and its share of the memory that all of them may take.

/** Bytes of all bodies that are being judged, and how many there may be. */
interface HeldBytes {
  bytes: number;
  readonly atMost: number;
}

/** The API server sends an object and its predecessor, each of at most 3 MiB. */
const largest = 8 * 1024 * 1024;

/** Counts against the others from its first byte until it is disposed. */
export class HeldBody {
  readonly #held: HeldBytes;
  #chunks: Uint8Array[] = [];
  #size = 0;
  #counted = 0;

  constructor(held: HeldBytes) {
    this.#held = held;
  }

  /** Reads it whole; gives the status of a refusal where it is too large, or there is no room beside the others. */
  async read(request: IncomingMessage): Promise<413 | 429 | undefined> {
    let isCrowded = false;
    // The rest is read and dropped, as who is still writing hears no answer.
    for await (const chunk of request as AsyncIterable<Uint8Array>) {
      this.#size += chunk.length;
      isCrowded ||= this.#held.bytes + chunk.length > this.#held.atMost;
      if (isCrowded || this.#size > largest) this.#drop();
      else this.#keep(chunk);
    }
    return this.#size > largest ? 413 : isCrowded ? 429 : undefined;
  }

  /** Its text, once. */
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
