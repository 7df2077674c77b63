/** A URL in a policy. */
import { z } from "zod";

/** Without user, password and query, as everyone who may read a policy sees its URLs. */
export const PlainUrl = z.string().max(512).regex(
  /^https?:\/\/[^\s\/?#@]+(\/[^\s?#@]*)?$/,
  "must be an http or https URL without credentials, query or fragment",
);
