/**
 * Traces from a change to a Ready node with Deno's OpenTelemetry, which is loaded only if OTEL_DENO enables it. The
 * spans of a run belong to one trace, even from several processes: the trace id is derived from the run id.
 */
import type { Attributes, Context, Span, Tracer } from "@opentelemetry/api";
import { CancelledFailure } from "@temporalio/common";
import type { ActivityInterceptorsFactory } from "@temporalio/worker";
import { createHash } from "node:crypto";
import process from "node:process";
import { z } from "zod";
import { failureTypeOf } from "../../activities/failures.ts";
import { subjectOf } from "./step_subject.ts";

/** A run that a change was signalled to. */
interface ToldRun {
  pool: string;
  generation: number;
  workflowId: string;
  runId: string;
  /** Epoch ms of the start of the signal. */
  since: number;
}

export interface Tracing {
  /** Adds spans to activities. */
  steps: ActivityInterceptorsFactory;
  /** Writes the first span of a trace. */
  told(run: ToldRun): void;
}

/** The result of a step that waited for machines. */
const Joins = z.object({
  joined: z.array(z.object({ machine: z.string(), node: z.string(), readyAt: z.number() })),
}).catch({ joined: [] });

/** Opens tracing; returns undefined if disabled. */
export async function openTracing(
  isOn = ["1", "true"].includes(process.env["OTEL_DENO"] ?? ""),
): Promise<Tracing | undefined> {
  if (!isOn) return undefined;
  const { ROOT_CONTEXT, SpanStatusCode, trace } = await import("@opentelemetry/api");
  const tracer: Tracer = trace.getTracer("ostler");
  const within = (runId: string): Context => trace.setSpanContext(ROOT_CONTEXT, placeOf(runId));
  const fail = (span: Span, error: unknown): void => {
    if (error instanceof CancelledFailure) return;
    span.setStatus({ code: SpanStatusCode.ERROR, message: failureTypeOf(error) });
  };
  return {
    steps: ({ info: { activityType, attempt, workflowExecution } }) => ({
      inbound: {
        execute: async (input, next) => {
          const { workflowId = "", runId = "" } = workflowExecution ?? {};
          const attributes = attributesOf({ workflowId, runId, attempt, ...subjectOf(input.args[0]) });
          const span = tracer.startSpan(activityType, { attributes }, within(runId));
          try {
            const result = await next(input);
            for (const { readyAt, ...joined } of Joins.parse(result).joined) {
              span.addEvent("node Ready", attributesOf(joined), readyAt);
            }
            return result;
          } catch (error) {
            fail(span, error);
            throw error;
          } finally {
            span.end();
          }
        },
      },
    }),
    told: ({ runId, since, ...about }) => {
      const attributes = attributesOf({ runId, ...about });
      tracer.startSpan("change", { attributes, startTime: since }, within(runId)).end();
    },
  };
}

/**
 * Returns the parent of all spans of a run: a trace id that only this run has, and the id of a span that is never
 * written.
 */
function placeOf(runId: string): { traceId: string; spanId: string; traceFlags: number; isRemote: boolean } {
  const digest = createHash("sha256").update(`ostler/${runId}`).digest("hex");
  return { traceId: digest.slice(0, 32), spanId: digest.slice(32, 48), traceFlags: 1, isRemote: true };
}

function attributesOf(facts: object): Attributes {
  return Object.fromEntries(Object.entries(facts).map(([name, value]) => [`ostler.${name}`, value]));
}
