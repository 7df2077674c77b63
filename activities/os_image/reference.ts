/** References of images, as users write them: registry, path, tag, digest. */
import { isIP } from "node:net";

export interface Reference {
  /** Host of the requests, with its port. */
  host: string;
  /** Path of the repository on that host. */
  path: string;
  /** Host and path as written by the user. */
  repository: string;
  tag?: string;
  digest?: string;
}

/** The name of Docker Hub in references, and the host of its API. */
const hub = { name: "docker.io", host: "registry-1.docker.io" } as const;

/** Parses a reference; undefined if its registry or path is missing or invalid, or if it has neither tag nor digest. */
export function parseReference(text: string): Reference | undefined {
  const [named = "", digest] = text.split("@");
  const colon = named.lastIndexOf(":");
  const isTagged = colon > named.lastIndexOf("/");
  const repository = isTagged ? named.slice(0, colon) : named;
  const tag = isTagged ? named.slice(colon + 1) : undefined;
  const slash = repository.indexOf("/");
  const [host, path] = [repository.slice(0, slash), repository.slice(slash + 1)];
  if (slash < 0 || !isHost(host) || !isPath(path) || (tag === undefined && digest === undefined)) return undefined;
  const place = host === hub.name
    ? { host: hub.host, path: path.includes("/") ? path : `library/${path}` }
    : { host, path };
  return { ...place, repository, ...(tag === undefined ? {} : { tag }), ...(digest === undefined ? {} : { digest }) };
}

/**
 * Returns whether the first part of a reference is a host. Docker reads a first part with neither a dot nor a port as a
 * path at Docker Hub; Ostler refuses it, because the user probably forgot the registry.
 */
function isHost(host: string): boolean {
  const url = `https://${host}/`;
  return (host.includes(".") || host.includes(":") || host === "localhost") && URL.canParse(url) &&
    [host.toLowerCase(), host.toLowerCase().replace(/:443$/, "")].includes(new URL(url).host);
}

function isPath(path: string): boolean {
  return path.split("/").every((part) => /^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*$/.test(part));
}

/**
 * Returns whether a host, with or without a port, is this machine. Reads only its text, because DNS may resolve a name
 * to any address.
 */
export function isLoopback(host: string): boolean {
  const name = host.replace(/:\d+$/, "").replace(/^\[(.*)\]$/, "$1");
  return name === "localhost" || name === "::1" || (isIP(name) === 4 && name.startsWith("127."));
}
