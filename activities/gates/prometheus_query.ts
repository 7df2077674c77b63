/** One instant query (https://prometheus.io/docs/prometheus/latest/querying/api/#instant-queries). */
import http, { type IncomingMessage } from "node:http";
import https from "node:https";
import { z } from "zod";

// Time and value of a sample; a value is a text, as JSON has no NaN.
const Sample = z.tuple([z.number(), z.string()]);

const Answer = z.object({
  status: z.literal("success"),
  data: z.discriminatedUnion("resultType", [
    z.object({ resultType: z.literal("vector"), result: z.array(z.object({ value: Sample })) }),
    z.object({ resultType: z.literal("scalar"), result: Sample }),
  ]),
});

/** Below the heartbeat timeout of the activity. */
const usualTimeoutMs = 5000;
const largestAnswer = 1_000_000;

/** What an administrator lets gates do; who writes a policy chooses the address. */
export interface MetricsAccess {
  /** Names of hosts, each with a port or for any; none allows all. */
  readonly hosts: readonly string[];
  /** PEM of the CA of these hosts; the system's where it is "". */
  readonly ca: string;
  /** What lets the worker in, read anew each time; "" for nothing. It is sent over https alone, and to `hosts` alone. */
  readonly token: () => Promise<string>;
  /** For the whole answer; 5 s unless told. */
  readonly timeoutMs?: number;
}

const anywhere: MetricsAccess = { hosts: [], ca: "", token: () => Promise.resolve("") };

/**
 * The values of all series, NaN among them; none for an empty answer. Throws an Error whose message names the server
 * and what it did, and never quotes what it said. Redirects are not followed: a policy names one server.
 */
export async function queryPrometheus(server: string, query: string, access = anywhere): Promise<number[]> {
  const url = queryUrl(server, query);
  const { hosts } = access;
  if (hosts.length > 0 && !hosts.includes(url.host) && !hosts.includes(url.hostname)) {
    throw new Error(`"${url.host}" is not among the hosts that gates may ask (prometheus-hosts)`);
  }
  const { timeoutMs = usualTimeoutMs } = access;
  const headers = await headersOf(url, access);
  const signal = AbortSignal.timeout(timeoutMs);
  const answer = await exchange(url, { headers, ca: access.ca, signal }).catch(() => {
    // What a connection that we end fails with depends on how far it had come.
    const late = `"${url.origin}" did not answer in ${timeoutMs / 1000} seconds`;
    throw new Error(signal.aborted ? late : `"${url.origin}" cannot be reached`);
  });
  if (answer.status !== 200) throw new Error(`"${url.origin}" answered HTTP ${answer.status}`);
  const read = Answer.safeParse(parsed(answer.text));
  if (!read.success) throw new Error(`"${url.origin}" gave no instant vector and no scalar`);
  const { data } = read.data;
  return (data.resultType === "scalar" ? [data.result] : data.result.map(({ value }) => value)).map(([, text]) =>
    Number(text.replace("Inf", "Infinity"))
  );
}

function queryUrl(server: string, query: string): URL {
  const url = URL.canParse(server) ? new URL(`${server.replace(/\/+$/, "")}/api/v1/query`) : undefined;
  if (url?.protocol !== "http:" && url?.protocol !== "https:") throw new Error("its url is no http or https address");
  if (url.username || url.password) throw new Error("its url holds credentials, which do not belong into a policy");
  url.searchParams.set("query", query);
  return url;
}

async function headersOf(url: URL, { hosts, token }: MetricsAccess): Promise<Record<string, string>> {
  if (url.protocol !== "https:" || hosts.length === 0) return {};
  const bearer = await token().catch(() => {
    throw new Error(`"${url.origin}" was not asked: the worker cannot read its bearer token (prometheus-token-file)`);
  });
  return bearer === "" ? {} : { authorization: `Bearer ${bearer}` };
}

interface Question {
  headers: Record<string, string>;
  ca: string;
  signal: AbortSignal;
}

/** One request on a connection of its own; the text is "" where it is too long to be an answer. */
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

// Whatever stands at that address must not fill the worker's memory.
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
    return undefined; // a proxy's page, say
  }
}
