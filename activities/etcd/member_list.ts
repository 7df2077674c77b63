/**
 * Lists the members of an etcd: those that the quorum agrees on, or without a quorum, those in the list of a member
 * that responds.
 */
import type { MemberList } from "./answers.ts";
import type { EtcdConnection } from "./connection.ts";
import { EtcdFault } from "./fault.ts";
import type { Sighting } from "./sighting.ts";

/**
 * Returns the first linearizable list of members and the endpoint that sent it; the faults of all endpoints if none
 * sends a list or `givenUp` aborts.
 */
export async function agreedList(
  connection: EtcdConnection,
  endpoints: string[],
  givenUp: AbortSignal,
): Promise<{ endpoint: string; list: MemberList } | EtcdFault[]> {
  const others = new AbortController();
  const ends = AbortSignal.any([others.signal, givenUp]);
  const tries = endpoints.map(async (endpoint) => {
    const list = await connection.members(endpoint, true, ends);
    return { endpoint, list };
  });
  try {
    return await Promise.any(tries);
  } catch (error) {
    return faultsIn(error);
  } finally {
    others.abort();
    await Promise.allSettled(tries);
  }
}

function faultsIn(error: unknown): EtcdFault[] {
  const errors: unknown[] = error instanceof AggregateError ? error.errors : [error];
  const strange = errors.find((each) => !(each instanceof EtcdFault));
  if (strange !== undefined) throw strange;
  return errors as EtcdFault[];
}

/**
 * Returns the list of the responding member that has applied the most entries; undefined if no member responds, or only
 * learners, which cannot list members.
 */
export async function ownList(connection: EtcdConnection, sightings: Sighting[]): Promise<MemberList | undefined> {
  const lists = await Promise.all(sightings.map(async ({ endpoint, told }) => {
    const list = told ? await connection.members(endpoint, false).catch(unlessFault) : undefined;
    return { list, applied: told?.raftAppliedIndex ?? 0 };
  }));
  return lists.filter(({ list }) => list).sort((a, b) => b.applied - a.applied)[0]?.list;
}

function unlessFault(error: unknown): undefined {
  if (!(error instanceof EtcdFault)) throw error;
}
