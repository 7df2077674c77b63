/** One request to one endpoint, and what many of them tell. */
import { get } from "node:http";

/** Whom a request goes to. */
export interface Endpoint {
  pod: string;
  node: string;
  address: string;
}

/** A request that was not answered well; nobody asked again. */
export interface FailedVisit {
  /** When it was sent, in epoch milliseconds. */
  at: number;
  /** Undefined when no endpoint was ready. */
  to: Endpoint | undefined;
  why: string;
}

/** What visitors saw between two moments. */
export interface VisitReport {
  answered: number;
  failed: FailedVisit[];
  /** Pods that answered. */
  pods: string[];
  /** The fewest endpoints that were ready when a request was sent. */
  leastReady: number;
  /** The longest time without a request, in milliseconds: nobody knows how the Service was then. */
  longestPauseMs: number;
}

const patienceMs = 5_000;

/** A report to be filled. */
export function nothingSeen(): Omit<VisitReport, "pods"> & { pods: Set<string> } {
  return { answered: 0, failed: [], pods: new Set(), leastReady: Infinity, longestPauseMs: 0 };
}

/** The whole answer; rejects unless it comes in time and with status 200. */
export function ask(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(patienceMs);
    const call = get(url, { agent: false, signal }, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (part: string) => text += part).on("error", reject);
      answer.on("end", () => {
        if (answer.statusCode === 200 && answer.complete) resolve(text.trim());
        else reject(new Error(`The answer had status ${answer.statusCode}`));
      });
    });
    call.on("error", reject);
  });
}
