import { Buffer } from "node:buffer";
import { secretsNamespace } from "../names.ts";

/** Where an edge machine fetches its config. */
interface EdgeFetch {
  apiServer: string;
  /** The certificate authority of the API server. */
  caPem: string;
  /** A token that can read the two secrets of this pool, nothing else. */
  token: string;
  /** Name of the Secret with the bootstrap user-data. */
  secret: string;
}

/**
 * Returns the script that an administrator starts on an edge machine, with the steps of Operating System Manager: it
 * fetches the bootstrap user-data, applies it with cloud-init and starts bootstrap.service. It sends the token only to
 * an API server that the CA confirms, and never puts the token on a command line, which everybody on the machine could
 * read.
 */
export function edgeScript({ apiServer, caPem, token, secret }: EdgeFetch): string {
  const address = `${apiServer}/api/v1/namespaces/${secretsNamespace}/secrets/${secret}`;
  // The shell would expand the brackets of an IPv6 address as a pattern.
  const url = /[^\w.:/-]/.test(address) ? `'${address.replaceAll("'", "%27")}'` : address;
  const file = `/etc/cloud/cloud.cfg.d/${secret}.cfg`;
  return `#!/bin/sh
set -eu
apt-get update -y
apt-get install -y ca-certificates curl jq
umask 077
files=$(mktemp -d)
trap 'rm -rf "$files"' EXIT
base64 -d >"$files/ca.crt" <<'END'
${Buffer.from(caPem).toString("base64")}
END
curl --silent --show-error --fail --globoff --proto '=https' --cacert "$files/ca.crt" --header @- \\
  --output "$files/secret" ${url} <<'END'
Authorization: Bearer ${token}
END
jq -er '.data["cloud-config"]' "$files/secret" >"$files/encoded"
base64 -d "$files/encoded" >"$files/config"
mv -f "$files/config" ${file}
cloud-init --file ${file} init
systemctl enable bootstrap.service
systemctl restart bootstrap.service
`;
}
