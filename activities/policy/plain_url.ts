/** A URL in a policy. */
import { z } from "zod";

/** A URL without user, password and query, because everyone who may read a policy sees its URLs. */
export const PlainUrl = z.string().max(512).regex(
  /^https?:\/\/[^\s\/?#@]+(\/[^\s?#@]*)?$/,
  "must be an http or https URL without credentials, query or fragment",
);
