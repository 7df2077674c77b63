/** One request to one endpoint, and statistics of many. */
import { get } from "node:http";

/** The receiver of a request. */
export interface Endpoint {
  pod: string;
  node: string;
  address: string;
}

/** A request without a good answer, which is not repeated. */
export interface FailedVisit {
  /** When it was sent, in epoch milliseconds. */
  at: number;
  /** Undefined when no endpoint was ready. */
  to: Endpoint | undefined;
  why: string;
}

/** The observations of visitors between two moments. */
export interface VisitReport {
  answered: number;
  failed: FailedVisit[];
  /** Pods that answered. */
  pods: string[];
  /** The minimum of ready endpoints when a request was sent. */
  leastReady: number;
  /** The longest time without a request, in milliseconds, for which the state of the Service is unknown. */
  longestPauseMs: number;
}

const patienceMs = 5_000;

/** An empty report. */
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
