/** Validates orders, because each of their fields becomes an argument of a program that runs as root on a node. */
import { createHash } from "node:crypto";
import { z } from "zod";
import type { OsOrder } from "../../workflows/contracts/mod.ts";
import { refused } from "../failures.ts";

/** The digest of an image or of a commit. */
export const digestPattern = /^sha256:[0-9a-f]{64}$/;
/** The boot id that the kernel makes for each boot. */
export const bootIdPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const repository = /^[a-z0-9]+([.-][a-z0-9]+)*(:[0-9]{1,5})?(\/[a-z0-9]+([._-]+[a-z0-9]+)*)+$/;
const remote = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}$/;
const nodeName = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/;

/** The fields of an order of any kind. */
export const orderFields = {
  node: z.string().regex(nodeName),
  uid: z.string().min(1).max(128),
  token: z.string().regex(/^[a-z0-9-]{1,63}$/),
  until: z.number().int().positive(),
};

const Order = z.strictObject({
  ...orderFields,
  driver: z.enum(["bootc", "rpm-ostree", "ostree"]),
  verb: z.enum(["Status", "Check", "Stage", "Apply", "GoBack"]),
  image: z.string().max(255),
  digest: z.string().regex(digestPattern).or(z.literal("")),
  bootId: z.string().regex(bootIdPattern).or(z.literal("")),
}).superRefine((order, { addIssue }) => {
  const { driver, verb, image, digest, bootId } = order;
  const lacks = (path: string): void => addIssue({ code: "custom", path: [path], message: `not allowed for ${verb}` });
  const isFetched = verb === "Stage";
  if (isFetched || image !== "") { if (!(driver === "ostree" ? remote : repository).test(image)) lacks("image"); }
  if (digest === "" && (isFetched || verb === "Apply")) lacks("digest");
  if (bootId === "" && (verb === "Apply" || verb === "GoBack")) lacks("bootId");
});

/**
 * Returns the order to an OS if it is valid. Throws Refused (ObjectInvalid), whose message only names the invalid
 * fields.
 */
export function judgedOrder(order: OsOrder): OsOrder {
  return judged(Order, order, "an OS operation");
}

/**
 * Returns an order of any kind if it is valid. Throws Refused (ObjectInvalid), whose message only names the invalid
 * fields.
 */
export function judged<T>(schema: z.ZodType<T>, order: unknown, what: string): T {
  const { success, data, error } = schema.safeParse(order);
  if (success) return data;
  const fields = [...new Set(error.issues.map(({ path }) => path.join(".")))].join(", ");
  throw refused("ObjectInvalid", `Failed to start ${what} on a node: the request has invalid fields: ${fields}`);
}

/**
 * Returns the name of the pod for an order, and of the systemd units that it creates on the host; equal for equal
 * orders.
 */
export function handNameOf({ uid, verb, token, driver, digest, bootId }: OsOrder): string {
  const words = JSON.stringify([uid, verb, token, driver, digest, bootId]);
  const hash = createHash("sha256").update(words).digest("hex").slice(0, 24);
  return `ostler-${verb.toLowerCase()}-${hash}`;
}
