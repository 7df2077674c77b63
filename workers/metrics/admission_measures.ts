/** What the webhook judged. */
import type { Admission } from "../admission/admission_review.ts";
import type { Metrics } from "./registry.ts";

/** The same judgements, counted; as they are where nobody counts. */
export function measuredAdmissions(
  metrics: Metrics | undefined,
  admissions: Record<string, Admission>,
): Record<string, Admission> {
  if (!metrics) return admissions;
  // From the start: an alert on how much it grew would not see the first.
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
