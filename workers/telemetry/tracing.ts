/**
 * Traces from a change to a Ready node, by the OpenTelemetry that Deno brings: on where OTEL_DENO is, and else nothing is
 * loaded for it. All that is done for a run is one trace, whoever does it: its id is made from that of the run, so that
 * nothing has to travel through histories.
 */
import type { Attributes, Context, Span, Tracer } from "@opentelemetry/api";
import { CancelledFailure } from "@temporalio/common";
import type { ActivityInterceptorsFactory } from "@temporalio/worker";
import { createHash } from "node:crypto";
import process from "node:process";
import { z } from "zod";
import { failureTypeOf } from "../../activities/failures.ts";
import { subjectOf } from "./step_subject.ts";

/** A run that was told of a change. */
export interface ToldRun {
  pool: string;
  generation: number;
  workflowId: string;
  runId: string;
  /** Epoch ms at which it began to be told. */
  since: number;
}

export interface Tracing {
  /** Spans of activities. */
  steps: ActivityInterceptorsFactory;
  /** The span with which a trace begins. */
  told(run: ToldRun): void;
}

/** What a step that waited for machines gives. */
const Joins = z.object({
  joined: z.array(z.object({ machine: z.string(), node: z.string(), readyAt: z.number() })),
}).catch({ joined: [] });

/** Undefined where nobody wants traces. */
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

/** Where all spans of a run belong: a trace of its own, below a span that nobody writes. */
function placeOf(runId: string): { traceId: string; spanId: string; traceFlags: number; isRemote: boolean } {
  const digest = createHash("sha256").update(`ostler/${runId}`).digest("hex");
  return { traceId: digest.slice(0, 32), spanId: digest.slice(32, 48), traceFlags: 1, isRemote: true };
}

function attributesOf(facts: object): Attributes {
  return Object.fromEntries(Object.entries(facts).map(([name, value]) => [`ostler.${name}`, value]));
}
