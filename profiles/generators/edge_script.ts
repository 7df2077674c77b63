import { secretsNamespace } from "../names.ts";

/** Whom an edge machine asks for its config, and how. */
export interface EdgeFetch {
  apiServer: string;
  /** Reads the two secrets of this pool, nothing else. */
  token: string;
  /** Name of the secret with the bootstrap user-data. */
  secret: string;
}

/**
 * Writes the script that a person starts on an edge machine, as Operating System Manager writes it: it gets the
 * bootstrap user-data, hands it to cloud-init and starts what it brings.
 */
export function edgeScript({ apiServer, token, secret }: EdgeFetch): string {
  const address = `${apiServer}/api/v1/namespaces/${secretsNamespace}/secrets/${secret}`;
  // The brackets of an IPv6 address are a pattern to the shell.
  const url = /[^\w.:/-]/.test(address) ? `'${address.replaceAll("'", "%27")}'` : address;
  const file = `/etc/cloud/cloud.cfg.d/${secret}.cfg`;
  return `apt-get update -y
apt-get install jq -y
curl -s -k -v --header 'Authorization: Bearer ${token}' ${url} | jq '.data["cloud-config"]' -r| base64 -d > ${file} 
cloud-init --file ${file} init
systemctl enable bootstrap.service
systemctl restart bootstrap.service
`;
}
