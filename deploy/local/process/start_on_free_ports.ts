import { freePorts } from "./free_ports.ts";
import { ProcessCrash } from "./process_crash.ts";
import type { ProcessSpec, SupervisedProcess } from "./supervised_process.ts";
import type { Supervisor } from "./supervisor.ts";

/** A process whose command line depends on ports that are chosen at its start. */
interface PortedSpec<Name extends string> {
  readonly ports: readonly Name[];
  readonly spec: (ports: Readonly<Record<Name, number>>) => ProcessSpec;
}

interface StartedOnPorts<Name extends string> {
  readonly process: SupervisedProcess;
  readonly ports: Readonly<Record<Name, number>>;
}

const maxAttempts = 4;

/** Starts a process on free ports of 127.0.0.1; retries on other ports if another process takes a port first. */
export async function startOnFreePorts<Name extends string>(
  supervisor: Supervisor,
  ported: PortedSpec<Name>,
  signal?: AbortSignal,
): Promise<StartedOnPorts<Name>> {
  for (let attempt = 1;; attempt++) {
    const numbers = await freePorts(ported.ports.length);
    const ports = Object.fromEntries(ported.ports.map((name, at) => [name, numbers[at]])) as Record<Name, number>;
    try {
      return { process: await supervisor.start(ported.spec(ports), signal), ports };
    } catch (error) {
      if (attempt === maxAttempts || !isPortTaken(error)) throw error;
    }
  }
}

function isPortTaken(error: unknown): boolean {
  return error instanceof ProcessCrash && /address already in use|EADDRINUSE/i.test(error.logTail);
}
