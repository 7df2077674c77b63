/**
 * Schemas of answers from etcd's JSON gateway, limited to the fields in use. The gateway omits values that are zero or
 * empty.
 */
import { z } from "zod";
import { hexOf } from "./member_id.ts";

const largestCluster = 64;

/** Limits text that becomes part of messages. */
const text = (longest: number): z.ZodType<string> =>
  z.string().max(longest).transform((value) => value.replace(/[^\x20-\x7e]/g, "?"));
const Urls = z.array(text(512)).max(16).default([]);

const Id = z.string().transform((decimal, context) => {
  const hex = hexOf(decimal);
  if (hex !== undefined) return hex;
  context.addIssue("not an unsigned integer of 64 bits");
  return z.NEVER;
});
/** The id of another member; "" for etcd's 0, which means none. */
const Reference = Id.default("0").transform((hex) => hex === "0" ? "" : hex);

const Count = z.string().regex(/^\d{1,16}$/).default("0").transform(Number).refine(Number.isSafeInteger);

const Header = z.object({ cluster_id: Id, member_id: Id }).loose();

const Member = z.object({
  ID: Id,
  name: text(253).default(""),
  peerURLs: Urls,
  clientURLs: Urls,
  isLearner: z.boolean().default(false),
}).loose();

/** The answer to `/v3/cluster/member/list`. */
export const MemberList = z.object({ header: Header, members: z.array(Member).max(largestCluster) }).loose();
export type MemberList = z.infer<typeof MemberList>;

/** The answer to `/v3/maintenance/status`. */
export const Status = z.object({
  header: Header,
  version: text(64),
  leader: Reference,
  raftIndex: Count,
  raftAppliedIndex: Count,
  raftTerm: Count,
  dbSize: Count,
  // A negative quota turns the quota off, and a huge one is practically no quota; neither must hide the whole status.
  dbSizeQuota: Count.optional().catch(undefined),
  errors: z.array(text(300)).max(20).default([]),
}).loose();
export type Status = z.infer<typeof Status>;

/** The answer to `/v3/maintenance/alarm`. */
export const Alarms = z.object({
  alarms: z.array(z.object({ memberID: Reference, alarm: text(32).default("NONE") }).loose()).max(500).default([]),
}).loose();

/** The answer to a successful request that changes the members or the leader; its fields are not used. */
export const Done = z.object({}).loose();

/** The answer of a failed request. */
export const ErrorAnswer = z.object({ code: z.number().int().default(0), message: z.string() }).loose();

/** One line of `/v3/maintenance/snapshot`. */
export const SnapshotLine = z.union([
  z.object({ result: z.object({ remaining_bytes: Count, blob: z.string().default("") }).loose() }),
  z.object({ error: ErrorAnswer }),
]);
