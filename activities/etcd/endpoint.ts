/** Client endpoints of etcd members. */

/**
 * Returns the endpoint as https://host:port; undefined for text that is not an https URL, or has a path, a query or
 * credentials.
 */
export function endpointOf(text: string): string | undefined {
  const url = text.length <= 512 && URL.canParse(text) ? new URL(text) : undefined;
  const isPlain = url?.pathname === "/" && url.search === "" && url.hash === "" && url.username === "" &&
    url.password === "";
  return url && isPlain && url.protocol === "https:" ? url.origin : undefined;
}

/** Returns the host of a URL, an IPv6 address in its canonical form; undefined for text that is not a URL. */
export function hostOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).hostname : undefined;
}

/** Returns the host of a bare address or name, as Nodes have them. */
export function hostOfAddress(address: string): string | undefined {
  return hostOf(`https://${address.includes(":") ? `[${address}]` : address}`);
}
