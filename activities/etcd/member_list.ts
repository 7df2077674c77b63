/** Who is a member: as a quorum has it, or where there is none as the members have it that still answer. */
import type { MemberList } from "./answers.ts";
import type { EtcdConnection } from "./connection.ts";
import { EtcdFault } from "./fault.ts";
import type { Sighting } from "./sighting.ts";

/** The first linearizable answer, and who gave it; the faults of all where there is none, or somebody gives up. */
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

/** As the member has it that has applied most of those that answer; undefined where only learners do, which do not tell. */
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
