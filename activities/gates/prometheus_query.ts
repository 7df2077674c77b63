/** One instant query (https://prometheus.io/docs/prometheus/latest/querying/api/#instant-queries). */
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
const timeoutMs = 5000;
const largestAnswer = 1_000_000;

/**
 * The values of all series, NaN among them; none for an empty answer. Throws an Error whose message names the server
 * and what it did, and never quotes what it said. Redirects are not followed: a policy names one server.
 */
export async function queryPrometheus(server: string, query: string): Promise<number[]> {
  const url = queryUrl(server, query);
  const signal = AbortSignal.timeout(timeoutMs);
  const answer = await fetch(url, { redirect: "manual", signal }).catch(unreachable(url));
  if (answer.status !== 200) {
    await answer.body?.cancel();
    throw new Error(`"${url.origin}" answered HTTP ${answer.status}`);
  }
  const read = Answer.safeParse(parsed(await bounded(answer).catch(unreachable(url))));
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

function unreachable(url: URL): (error: unknown) => never {
  return (error) => {
    const isLate = error instanceof Error && error.name === "TimeoutError";
    throw new Error(isLate ? `"${url.origin}" did not answer in 5 seconds` : `"${url.origin}" cannot be reached`);
  };
}

// Whatever stands at that address must not fill the worker's memory.
async function bounded(answer: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of answer.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    if (text.length > largestAnswer) return "";
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
