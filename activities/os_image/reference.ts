/** References of images, as people write them: registry, path, tag, digest. */
import { isIP } from "node:net";

export interface Reference {
  /** As it is asked for, with its port. */
  host: string;
  /** Of the repository at that host. */
  path: string;
  /** Host and path as they were written. */
  repository: string;
  tag?: string;
  digest?: string;
}

/** What Docker Hub calls itself in references, and where it answers. */
const hub = { name: "docker.io", host: "registry-1.docker.io" } as const;

/** Takes a reference apart whose form was checked; undefined where it names neither tag nor digest, or no registry. */
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

/** A first part without dot and port is a path at Docker Hub to Docker, and a typing error to us. */
function isHost(host: string): boolean {
  const url = `https://${host}/`;
  return (host.includes(".") || host.includes(":") || host === "localhost") && URL.canParse(url) &&
    [host.toLowerCase(), host.toLowerCase().replace(/:443$/, "")].includes(new URL(url).host);
}

function isPath(path: string): boolean {
  return path.split("/").every((part) => /^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*$/.test(part));
}

/** Whether a host, with or without a port, is this machine: by what it is called, as a name may be made to mean anything. */
export function isLoopback(host: string): boolean {
  const name = host.replace(/:\d+$/, "").replace(/^\[(.*)\]$/, "$1");
  return name === "localhost" || name === "::1" || (isIP(name) === 4 && name.startsWith("127."));
}
