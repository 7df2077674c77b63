import { secretsNamespace } from "../names.ts";

/** Where an edge machine fetches its config. */
export interface EdgeFetch {
  apiServer: string;
  /** A token that can read the two secrets of this pool, nothing else. */
  token: string;
  /** Name of the Secret with the bootstrap user-data. */
  secret: string;
}

/**
 * Returns the script that an administrator starts on an edge machine, as Operating System Manager writes it: it fetches
 * the bootstrap user-data, applies it with cloud-init and starts bootstrap.service.
 */
export function edgeScript({ apiServer, token, secret }: EdgeFetch): string {
  const address = `${apiServer}/api/v1/namespaces/${secretsNamespace}/secrets/${secret}`;
  // The shell would expand the brackets of an IPv6 address as a pattern.
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
