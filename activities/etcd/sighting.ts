/** What one endpoint says of itself. */
import type { MemberList, Status } from "./answers.ts";
import type { EtcdConnection } from "./connection.ts";
import { endpointOf, hostOf } from "./endpoint.ts";
import { EtcdFault } from "./fault.ts";

export interface Sighting {
  endpoint: string;
  told?: Status;
  /** Why it tells nothing. */
  silence?: string;
}

/** Asks all of them at once. */
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
 * Where members that no endpoint was yet are asked: at URLs of their own whose hosts are those of endpoints. A list of
 * members is not to send our certificate anywhere.
 */
export function urlsToAsk({ members }: MemberList, asked: { endpoints: string[]; sightings: Sighting[] }): string[] {
  const hosts = new Set(asked.endpoints.map(hostOf));
  const seen = new Set(asked.sightings.map(({ told }) => told?.header.member_id));
  const urls = members.filter(({ ID }) => !seen.has(ID)).flatMap(({ clientURLs }) => clientURLs);
  const fitting = urls.map(endpointOf).filter((url) => url !== undefined)
    .filter((url) => hosts.has(hostOf(url)) && !asked.endpoints.includes(url));
  return [...new Set(fitting)].slice(0, mostUrls);
}
