/** A request of the API server in words of which there are few: no names, so that they can be labels of metrics. */

/** What was asked, as the API server's own rules of access call it. */
export interface RequestFacts {
  verb: "get" | "list" | "create" | "update" | "patch" | "delete" | "deletecollection" | "other";
  /** As "pods" or "pods/eviction"; "other" where the path is of no object. */
  resource: string;
}

/** What became of a request. */
export interface RequestOutcome extends RequestFacts {
  /** HTTP status; 0 without an answer. */
  code: number;
  seconds: number;
}

/** Told of each request; must not throw. */
export type RequestsTold = (outcome: RequestOutcome) => void;

// Not at its beginning: behind a proxy for many clusters the server has a path of its own.
const objectPath =
  /\/(?:api\/v\d\w*|apis\/[^/]+\/v\d\w*)\/(?:namespaces\/[^/]+\/)?([a-z]+)(?:\/([^/]+))?(?:\/([a-z]+))?$/;
const verbs = { POST: "create", PUT: "update", PATCH: "patch" } as const;

/** What a request asks for. */
export function requestFactsOf(method: string, url: string): RequestFacts {
  const [, kind, name, part] = objectPath.exec(new URL(url).pathname) ?? [];
  if (kind === undefined) return { verb: "other", resource: "other" };
  return { verb: verbOf(method, name !== undefined), resource: part === undefined ? kind : `${kind}/${part}` };
}

function verbOf(method: string, isNamed: boolean): RequestFacts["verb"] {
  if (method === "GET") return isNamed ? "get" : "list";
  if (method === "DELETE") return isNamed ? "delete" : "deletecollection";
  return verbs[method as keyof typeof verbs] ?? "other";
}
