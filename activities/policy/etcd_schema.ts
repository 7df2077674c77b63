/** The etcd section of a RolloutPolicy: where a snapshot is kept before a control plane machine is drained. */
import { z } from "zod";
import { isConfidential, PlainUrl } from "./plain_url.ts";

// Each part of the path is checked, because ".." would lead out of the mounted folder.
const Folder = z.string().max(512).regex(
  /^(\/(?!\.{1,2}(\/|$))[A-Za-z0-9._-]+)+\/?$/,
  'must be an absolute path of letters, digits, ".", "_" and "-", with no part "." or ".."',
);

// An impossible port is refused here, and not when the first snapshot is sent.
const StoreUrl = PlainUrl.refine((url) => URL.canParse(url), "must have a valid host and port")
  .refine(
    (url) => URL.canParse(url) && isConfidential(new URL(url)),
    "must be an https URL, as a snapshot contains all data of the cluster",
  );

const TokenSecret = z.strictObject({
  name: z.string().min(1).max(253).regex(
    /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
    "must be a DNS name",
  ),
  key: z.string().min(1).max(253).regex(/^[-._a-zA-Z0-9]+$/, "must be a valid key of a Secret").optional(),
});

const Snapshot = z.strictObject({
  keep: z.enum(["None", "Folder", "Url"]).optional(),
  folder: Folder.optional(),
  url: StoreUrl.optional(),
  tokenSecret: TokenSecret.optional(),
}).refine(({ keep, folder }) => (keep === "Folder") === (folder !== undefined), {
  path: ["folder"],
  message: "must be set if, and only if, keep is Folder",
}).refine(({ keep, url }) => (keep === "Url") === (url !== undefined), {
  path: ["url"],
  message: "must be set if, and only if, keep is Url",
}).refine(({ url, tokenSecret }) => url !== undefined || tokenSecret === undefined, {
  path: ["tokenSecret"],
  message: "must not be set without url",
});

/** All fields are optional. */
export const Etcd = z.strictObject({ snapshot: Snapshot.optional() });
export type Etcd = z.infer<typeof Etcd>;
