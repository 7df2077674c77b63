/** One HTTP request to one endpoint of a Service, and the statistics of many such requests. */
import { get } from "node:http";

/** A pod that receives requests. */
export interface Endpoint {
  pod: string;
  node: string;
  address: string;
}

/** A request that got no correct answer; it is not retried. */
export interface FailedVisit {
  /** When the request was sent, in epoch milliseconds. */
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
  /** The smallest number of ready endpoints at the time of any request. */
  leastReady: number;
  /** The longest pause between two requests, in milliseconds; nothing is known about the Service during a pause. */
  longestPauseMs: number;
}

const patienceMs = 5_000;

/** An empty report. */
export function nothingSeen(): Omit<VisitReport, "pods"> & { pods: Set<string> } {
  return { answered: 0, failed: [], pods: new Set(), leastReady: Infinity, longestPauseMs: 0 };
}

/** Returns the whole answer to a request; rejects unless the answer comes in time and with status 200. */
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
