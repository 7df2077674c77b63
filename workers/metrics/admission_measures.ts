/** Metrics of the webhook. */
import type { Admission } from "../admission/admission_review.ts";
import type { Metrics } from "./registry.ts";

/** Returns the admissions, with metrics recorded about each review; returns them unchanged if metrics are disabled. */
export function measuredAdmissions(
  metrics: Metrics | undefined,
  admissions: Record<string, Admission>,
): Record<string, Admission> {
  if (!metrics) return admissions;
  // Errors are exported as 0 from the start, because an alert on the increase would miss the first one.
  for (const path of Object.keys(admissions)) {
    metrics.add("ostler_admission_reviews_total", { path, verdict: "error" }, 0);
  }
  return Object.fromEntries(
    Object.entries(admissions).map(([path, admit]): [string, Admission] => [
      path,
      async (asked, late) => {
        const begun = performance.now();
        let verdict = "error";
        try {
          const found = await admit(asked, late);
          verdict = found.denial ? "denied" : "allowed";
          return found;
        } finally {
          metrics.add("ostler_admission_reviews_total", { path, verdict });
          metrics.observe("ostler_admission_duration_seconds", (performance.now() - begun) / 1000, { path });
        }
      },
    ]),
  );
}
