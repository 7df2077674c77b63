/** Work side by side. */
import { usualPorts } from "../../deploy/local/process/free_ports.ts";

/** Does all pieces in their order, so many at once: a lane (from 0) that is done takes the next. Results keep the order. */
export async function inLanes<Piece, Result>(
  pieces: readonly Piece[],
  lanes: number,
  work: (piece: Piece, lane: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const left = pieces.entries();
  const walk = async (lane: number): Promise<void> => {
    for (const [at, piece] of left) results[at] = await work(piece, lane);
  };
  await Promise.all(Array.from({ length: lanes }, (_, lane) => walk(lane)));
  return results;
}

/** A lane's share of the ports for servers, as OSTLER_PORTS takes it. */
export function portsOf(lane: number, lanes: number): string {
  const { first, last } = usualPorts;
  const share = Math.floor((last - first + 1) / lanes);
  return `${first + lane * share}-${first + (lane + 1) * share - 1}`;
}
