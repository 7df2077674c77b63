/** Sends one instant query (https://prometheus.io/docs/prometheus/latest/querying/api/#instant-queries). */
import http, { type IncomingMessage } from "node:http";
import https from "node:https";
import { z } from "zod";

// Time and value of a sample; the value is a text, because JSON has no NaN.
const Sample = z.tuple([z.number(), z.string()]);

const Answer = z.object({
  status: z.literal("success"),
  // Prometheus and Thanos report unread data in `warnings`, VictoriaMetrics in `isPartial`.
  warnings: z.array(z.string()).optional().catch(undefined),
  isPartial: z.boolean().optional().catch(undefined),
  data: z.discriminatedUnion("resultType", [
    z.object({ resultType: z.literal("vector"), result: z.array(z.object({ value: Sample })) }),
    z.object({ resultType: z.literal("scalar"), result: Sample }),
  ]),
});

/** Beginning of the warnings that concern the query, and not the data that it reads. */
const ofQuery = /^PromQL (warning|info): /;

/** Default timeout of a query: shorter than the heartbeat timeout of the activity. */
const defaultTimeoutMs = 5000;
const largestAnswer = 1_000_000;

/** Limits that an administrator sets for the queries of gates, because the author of a policy chooses the address. */
export interface MetricsAccess {
  /** Host names, each with or without a port; an empty list allows none. */
  readonly hosts: readonly string[];
  /** PEM of the CA of these hosts; "" uses the system's CAs. */
  readonly ca: string;
  /**
   * Returns the bearer token of Ostler's worker process, which is read at each call; "" for none. The token is sent
   * only over https, and only to `hosts`.
   */
  readonly token: () => Promise<string>;
  /** Timeout of the whole response in milliseconds; default 5 s. */
  readonly timeoutMs?: number;
}

const nowhere: MetricsAccess = { hosts: [], ca: "", token: () => Promise.resolve("") };

/**
 * Returns the values of all series, NaN among them; none for an empty response. Throws an Error whose message names the
 * server and its failure, also for an incomplete result, and never quotes its response. Does not follow redirects,
 * because they may lead to servers that are not in `hosts`.
 */
export async function queryPrometheus(server: string, query: string, access = nowhere): Promise<number[]> {
  const url = queryUrl(server, query);
  // Only listed hosts are queried, because the author of a policy chooses the address, and Ostler's worker process can
  // reach servers that this author must not reach.
  if (!access.hosts.includes(url.host) && !access.hosts.includes(url.hostname)) {
    throw new Error(`"${url.host}" is not listed in prometheus-hosts`);
  }
  const { timeoutMs = defaultTimeoutMs } = access;
  const headers = await headersOf(url, access);
  const signal = AbortSignal.timeout(timeoutMs);
  const answer = await exchange(url, { headers, ca: access.ca, signal }).catch(() => {
    // The error of a request that timed out depends on its progress, so `signal` shows whether the cause was the
    // timeout.
    const late = `"${url.origin}" did not respond within ${timeoutMs / 1000} s`;
    throw new Error(signal.aborted ? late : `"${url.origin}" is unreachable`);
  });
  if (answer.status !== 200) throw new Error(`"${url.origin}" returned HTTP ${answer.status}`);
  const read = Answer.safeParse(parsed(answer.text));
  if (!read.success) throw new Error(`"${url.origin}" returned neither an instant vector nor a scalar`);
  const { data, warnings = [], isPartial = false } = read.data;
  // Such a result lacks series or samples, so a sum of errors could be too small, and open the gate.
  if (isPartial || warnings.some((each) => !ofQuery.test(each))) {
    throw new Error(`"${url.origin}" returned an incomplete result, because it could not read all of its data`);
  }
  return (data.resultType === "scalar" ? [data.result] : data.result.map(({ value }) => value)).map(([, text]) =>
    Number(text.replace("Inf", "Infinity"))
  );
}

function queryUrl(server: string, query: string): URL {
  const url = URL.canParse(server) ? new URL(`${server.replace(/\/+$/, "")}/api/v1/query`) : undefined;
  if (url?.protocol !== "http:" && url?.protocol !== "https:") throw new Error("the gate's url must be http or https");
  if (url.username || url.password) throw new Error("the gate's url must not contain credentials");
  url.searchParams.set("query", query);
  return url;
}

async function headersOf(url: URL, { token }: MetricsAccess): Promise<Record<string, string>> {
  if (url.protocol !== "https:") return {};
  const bearer = await token().catch(() => {
    throw new Error(`"${url.origin}" was not queried: the worker cannot read its bearer token (prometheus-token-file)`);
  });
  return bearer === "" ? {} : { authorization: `Bearer ${bearer}` };
}

interface Question {
  headers: Record<string, string>;
  ca: string;
  signal: AbortSignal;
}

/** Sends one request on its own connection; the text is "" if the status is not 200 or the response is too long. */
async function exchange(url: URL, { headers, ca, signal }: Question): Promise<{ status: number; text: string }> {
  const options = { agent: false, headers, signal, ...(ca === "" ? {} : { ca }) };
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const ask = url.protocol === "https:" ? https.request : http.request;
    ask(url, options, resolve).on("error", reject).end();
  });
  return {
    status: response.statusCode ?? 0,
    text: response.statusCode === 200 ? await bounded(response) : drop(response),
  };
}

function drop(response: IncomingMessage): string {
  response.destroy();
  return "";
}

// Returns "" for a response that is too long, so that no server can fill the worker's memory.
async function bounded(response: IncomingMessage): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of response as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > largestAnswer) return drop(response);
  }
  return text;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // for example an error page of a proxy
  }
}
