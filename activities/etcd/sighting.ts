/** Reads the status of the etcd member at each endpoint. */
import type { MemberList, Status } from "./answers.ts";
import type { EtcdConnection } from "./connection.ts";
import { endpointOf, hostOf } from "./endpoint.ts";
import { EtcdFault } from "./fault.ts";

export interface Sighting {
  endpoint: string;
  /** The status of the member at the endpoint; absent if there was no valid answer. */
  told?: Status;
  /** Why there was no valid answer. */
  silence?: string;
}

/** Requests the statuses of all endpoints concurrently. */
export async function sightingsAt(connection: EtcdConnection, endpoints: string[]): Promise<Sighting[]> {
  return await Promise.all(endpoints.map(async (endpoint) => {
    try {
      return { endpoint, told: await connection.status(endpoint) };
    } catch (error) {
      if (!(error instanceof EtcdFault)) throw error;
      return { endpoint, silence: error.message };
    }
  }));
}

const mostUrls = 32;

/**
 * Returns more URLs to query: client URLs of members that have not answered yet, if they are on the hosts of queried
 * endpoints. The list of members may contain other hosts, to which the client certificate must never be sent.
 */
export function urlsToAsk({ members }: MemberList, asked: { endpoints: string[]; sightings: Sighting[] }): string[] {
  const hosts = new Set(asked.endpoints.map(hostOf));
  const seen = new Set(asked.sightings.map(({ told }) => told?.header.member_id));
  const urls = members.filter(({ ID }) => !seen.has(ID)).flatMap(({ clientURLs }) => clientURLs);
  const fitting = urls.map(endpointOf).filter((url) => url !== undefined)
    .filter((url) => hosts.has(hostOf(url)) && !asked.endpoints.includes(url));
  return [...new Set(fitting)].slice(0, mostUrls);
}
