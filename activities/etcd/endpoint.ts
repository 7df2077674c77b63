/** Addresses at which members of etcd are asked. */

/** As https://host:port; undefined for what is anything else: plain http, with a path, or with credentials. */
export function endpointOf(text: string): string | undefined {
  const url = text.length <= 512 && URL.canParse(text) ? new URL(text) : undefined;
  const isPlain = url?.pathname === "/" && url.search === "" && url.hash === "" && url.username === "" &&
    url.password === "";
  return url && isPlain && url.protocol === "https:" ? url.origin : undefined;
}

/** The host of an address, an IPv6 one in its one written form; undefined for what is none. */
export function hostOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).hostname : undefined;
}

/** The same of a bare address or name, as Nodes have them. */
export function hostOfAddress(address: string): string | undefined {
  return hostOf(`https://${address.includes(":") ? `[${address}]` : address}`);
}
