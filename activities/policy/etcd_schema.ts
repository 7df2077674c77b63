/** What a RolloutPolicy says of etcd: where a snapshot is kept before a machine of a control plane is drained. */
import { z } from "zod";
import { PlainUrl } from "./plain_url.ts";

// Its parts are judged one by one, as ".." would lead out of what is mounted there.
const Folder = z.string().max(512).regex(
  /^(\/(?!\.{1,2}(\/|$))[A-Za-z0-9._-]+)+\/?$/,
  'must be an absolute path of letters, digits, ".", "_" and "-", with no part "." or ".."',
);

// A port that no machine has is known here, and not only once a snapshot has to go there.
const StoreUrl = PlainUrl.refine((url) => URL.canParse(url), "must have a host and a port that there can be")
  .refine(isClosed, "must be of https, as all that the cluster stores goes there");

const TokenSecret = z.strictObject({
  name: z.string().min(1).max(253).regex(
    /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
    "must be a DNS name",
  ),
  key: z.string().min(1).max(253).regex(/^[-._a-zA-Z0-9]+$/, "must be a key as Secrets have them").optional(),
});

const Snapshot = z.strictObject({
  keep: z.enum(["None", "Folder", "Url"]).optional(),
  folder: Folder.optional(),
  url: StoreUrl.optional(),
  tokenSecret: TokenSecret.optional(),
}).refine(({ keep, folder }) => (keep === "Folder") === (folder !== undefined), {
  path: ["folder"],
  message: "must stand where keep is Folder, and nowhere else",
}).refine(({ keep, url }) => (keep === "Url") === (url !== undefined), {
  path: ["url"],
  message: "must stand where keep is Url, and nowhere else",
}).refine(({ url, tokenSecret }) => url !== undefined || tokenSecret === undefined, {
  path: ["tokenSecret"],
  message: "cannot stand without url",
});

/** Its fields may all be left out. */
export const Etcd = z.strictObject({ snapshot: Snapshot.optional() });
export type Etcd = z.infer<typeof Etcd>;

/** Nobody on the way reads it; a worker's own machine has no way. */
function isClosed(url: string): boolean {
  const { protocol, hostname } = URL.canParse(url) ? new URL(url) : { protocol: "", hostname: "" };
  return protocol === "https:" || /^(localhost|127\..*|\[::1\])$/.test(hostname);
}
