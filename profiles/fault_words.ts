import type { z } from "zod";

type Issue = z.core.$ZodRawIssue | z.core.$ZodIssue;

/** Plain names of zod's types, for messages. */
const types: Record<string, string> = {
  ...{ string: "a text", number: "a number", int: "a whole number", boolean: "true or false", array: "a list" },
  ...{ object: "a mapping", record: "a mapping", null: "empty", undefined: "left out", never: "left out" },
  ...{ date: "a time", tuple: "a list" },
};

/** Plain names of zod's string formats, for messages. */
const formats: Record<string, string> = {
  ...{ ipv4: "an IPv4 address", ipv6: "an IPv6 address", cidrv4: "an IPv4 network", cidrv6: "an IPv6 network" },
  ...{ url: "a URL", datetime: "a time such as 2026-11-26T14:00:00Z", duration: "a duration", base64: "base64" },
  ...{ email: "an email address", json_string: "JSON", uuid: "a UUID" },
};

/**
 * Returns in words why a schema refuses a value, without the value itself. Passed as `error` to every parse whose
 * message people read, because zod's own texts are for programmers. A message of the schema itself takes precedence.
 */
export function inWords(issue: z.core.$ZodRawIssue): string {
  return words(issue);
}

function words(issue: Issue): string {
  switch (issue.code) {
    case "invalid_type":
      return required(issue, types[issue.expected] ?? `of type ${issue.expected}`);
    case "invalid_value":
      return required(issue, oneOf(issue.values));
    case "too_small":
      return limit(issue, issue.minimum, issue.inclusive === false ? "more than" : "at least");
    case "too_big":
      return limit(issue, issue.maximum, issue.inclusive === false ? "less than" : "at most");
    case "not_multiple_of":
      return `must be a multiple of ${issue.divisor}`;
    case "unrecognized_keys":
      return `unknown field${issue.keys.length === 1 ? "" : "s"} ${issue.keys.map(quoted).join(", ")}`;
    case "invalid_format":
      return format(issue);
    case "invalid_key":
      return `has an invalid name: ${issue.issues.map(({ message }) => message).join(", ")}`;
    case "invalid_union":
      return union(issue);
    default:
      return "is invalid";
  }
}

/**
 * Returns the message that the value must be `wanted`; if there is no value, the message also reports a missing field.
 */
function required({ input }: { input?: unknown }, wanted: string): string {
  return input === undefined ? `is missing; it must be ${wanted}` : `must be ${wanted}`;
}

function oneOf(values: readonly unknown[]): string {
  const shown = values.map((value) => typeof value === "string" ? quoted(value) : String(value));
  return shown.length === 1 ? String(shown[0]) : `one of ${shown.join(", ")}`;
}

function limit({ origin }: { origin: string }, bound: number | bigint, comparison: string): string {
  if (["array", "set", "object", "record", "map"].includes(origin)) {
    return `must have ${comparison} ${bound} ${Number(bound) === 1 ? "entry" : "entries"}`;
  }
  if (origin !== "string") return `must be ${comparison} ${bound}`;
  if (comparison === "at least" && Number(bound) === 1) return "must not be empty";
  return `must have ${comparison} ${bound} character${Number(bound) === 1 ? "" : "s"}`;
}

function format(issue: Extract<Issue, { code: "invalid_format" }>): string {
  const { pattern, prefix, suffix, includes } = issue as {
    [Key in "pattern" | "prefix" | "suffix" | "includes"]?: string;
  };
  const known = formats[issue.format];
  if (known !== undefined) return `must be ${known}`;
  if (prefix !== undefined) return `must begin with ${quoted(prefix)}`;
  if (suffix !== undefined) return `must end with ${quoted(suffix)}`;
  if (includes !== undefined) return `must contain ${quoted(includes)}`;
  return pattern === undefined ? "has an invalid form" : `must match the pattern ${pattern}`;
}

function union(issue: Extract<Issue, { code: "invalid_union" }>): string {
  const { discriminator, options, errors } = issue as { discriminator?: string; options?: unknown[] } & typeof issue;
  if (discriminator !== undefined) return required(issue, oneOf(options ?? []));
  // An alternative that refuses only a field of the value fits it better than one that refuses the whole value.
  const causes = errors.map((each) => each[0]).filter((cause) => cause !== undefined);
  const deep = causes.find(({ path }) => path.length > 0);
  if (deep !== undefined) return `${deep.path.map(String).join(".")}: ${deep.message}`;
  const wanted = causes.map(({ message }) => message.replace(/^(is missing; it )?must be /, ""));
  return required(issue, [...new Set(wanted)].join(", or "));
}

function quoted(text: string): string {
  return JSON.stringify(text);
}
