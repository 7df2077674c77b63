import type { NodeSettings } from "../node_settings.ts";

/** A mirror of a registry. */
export interface Mirror {
  registry: string;
  /** The URL in the form that containerd reads. */
  url: string;
  /** Whether the path of the URL is the whole API root, so that containerd does not append /v2. */
  overridePath: boolean;
}

// Matches REGISTRY=MIRROR, where the registry is `*`, `_default`, or a host with an optional port and path; the pattern
// of Operating System Manager does not allow a port.
const legacyEntry = /^([A-Za-z0-9.-]+(?::\d+)?(?:\/[A-Za-z0-9._/-]*)?|\*|_default)=(.*)$/;

/** Returns the mirrors of both settings, in no particular order. */
export function mirrorsOf(
  settings: Pick<NodeSettings, "nodeRegistryMirrors" | "nodeContainerdRegistryMirrors">,
): Mirror[] {
  return [
    ...settings.nodeContainerdRegistryMirrors.map((entry) => {
      const at = entry.indexOf("=");
      return mirrorOf(entry.slice(0, at), entry.slice(at + 1));
    }),
    ...settings.nodeRegistryMirrors.map((entry) => entry.trim()).filter((entry) => entry !== "").map((entry) => {
      const [, registry = "docker.io", url = entry] = legacyEntry.exec(entry) ?? [];
      return mirrorOf(registry, /^https?:\/\//i.test(url) ? url : `https://${url}`);
    }),
  ];
}

/** Returns a mirror without the query parameter `kubermatic=override_path%3Dtrue`, which sets `overridePath`. */
function mirrorOf(registry: string, written: string): Mirror {
  const [, address = "", query = "", fragment = ""] = /^([^?#]*)(?:\?([^#]*))?(#.*)?$/s.exec(written) ?? [];
  const pairs = pairsOf(query);
  const channel = pairs.find(([key]) => key === "kubermatic")?.[1];
  if (channel === undefined) return { registry, url: written, overridePath: false };
  const rest = pairs.filter(([key]) => key !== "kubermatic");
  const wish = pairsOf(unescaped(channel) ?? "").find(([key]) => key === "override_path")?.[1];
  const url = address + (rest.length > 0 ? `?${writePairs(rest)}` : "") + fragment;
  return { registry, url, overridePath: /^(1|t|T|TRUE|true|True)$/.test(wish ?? "") };
}

function pairsOf(query: string): [string, string][] {
  return query.split("&").flatMap((pair): [string, string][] => {
    const [, key, value] = /^([^=]*)=?(.*)$/s.exec(pair) ?? [];
    const decoded = [unescaped(key ?? ""), unescaped(value ?? "")] as const;
    // Like Go, skip a pair that cannot be decoded.
    if (pair === "" || pair.includes(";") || decoded[0] === undefined || decoded[1] === undefined) return [];
    return [[decoded[0], decoded[1]]];
  });
}

/** Encodes pairs like Go's url.Values: sorted by key. */
function writePairs(pairs: [string, string][]): string {
  const sorted = pairs.toSorted(([left], [right]) => left < right ? -1 : Number(left > right));
  return sorted.map((pair) => pair.map(escaped).join("=")).join("&");
}

function unescaped(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}

function escaped(text: string): string {
  const whole = encodeURIComponent(text).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return whole.replaceAll("%20", "+");
}
