/** A URL in a policy. */
import { z } from "zod";

/** Neither user nor password, and nothing after "?": what a policy says is shown to everybody who may read it. */
export const PlainUrl = z.string().max(512).regex(
  /^https?:\/\/[^\s\/?#@]+(\/[^\s?#@]*)?$/,
  "must be http or https, with no credentials, query or fragment inside",
);
