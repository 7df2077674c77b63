/** Inclusive bounds of a seeded random duration, in seconds. */
export interface Range {
  min: number;
  max: number;
}

/** Facts of a machine by which faults select it; the kubelet version is known once the machine is provisioned. */
export interface MachineFacts {
  name: string;
  /** Number of the machine in the cloud, from 1. */
  ordinal: number;
  image: string;
  kubelet?: string | undefined;
}

/** Faults of a machine, in the order of its phases. */
export type FaultKind = "no-instance" | "no-boot" | "no-join" | "not-ready" | "die";

/** A fault for the next matching machines. */
export interface Fault {
  kind: FaultKind;
  when: (machine: MachineFacts) => boolean;
  /** Number of machines that get the fault; by default every matching machine. */
  times?: number;
  /** Only for "die": seconds from Ready to the end of the machine; default 0. */
  afterSeconds?: number;
}

/** The behavior of the machines of a simulated cloud, including their faults. */
export interface CloudScript {
  /** Seconds from the creation of a VirtualMachine to the start of its kubelet, without the duration of API calls. */
  bootSeconds: Range;
  /** Seconds from the registration of a Node until it is Ready. */
  readySeconds: Range;
  heartbeatSeconds: number;
  podStartSeconds: number;
  /** Maximum grace period of pods, in seconds. */
  maxPodGraceSeconds: number;
  /** Number of attempts of each boot step before the machine gives up. */
  bootAttempts: number;
  /** Time limit of each boot step, in seconds. */
  bootStepSeconds: number;
  /** Packages that the mirror lacks: a machine that should install one of them fails and reports the reason. */
  missingPackages: readonly string[];
  /** Zones, assigned to machines in the order of creation; if empty, machines have no zone. */
  zones: readonly string[];
  faults: readonly Fault[];
}

/** Changes of a script; missing fields are unchanged. */
export type ScriptChange = Partial<CloudScript>;

const defaults: CloudScript = {
  bootSeconds: { min: 2, max: 5 },
  readySeconds: { min: 0.5, max: 1.5 },
  heartbeatSeconds: 5,
  podStartSeconds: 0.3,
  maxPodGraceSeconds: Infinity,
  bootAttempts: 10,
  bootStepSeconds: 60,
  missingPackages: [],
  zones: [],
  faults: [],
};

/** The current script, and how often each of its faults was used. */
export class Script {
  #current: CloudScript;
  #struck = new Map<Fault, number>();

  constructor(change: ScriptChange = {}) {
    this.#current = { ...defaults, ...change };
    checkScript(this.#current);
  }

  get current(): CloudScript {
    return this.#current;
  }

  /** Changes the script from now on; with a new list of faults, no fault counts as used. */
  change(change: ScriptChange): void {
    const next = { ...this.#current, ...change };
    checkScript(next);
    this.#current = next;
    if (change.faults !== undefined) this.#struck.clear();
  }

  /**
   * Returns the first fault of this kind that matches the machine, and counts it as used; undefined if there is none,
   * or all have been used as often as allowed.
   */
  strike(kind: FaultKind, machine: MachineFacts): Fault | undefined {
    const fault = this.#current.faults.find((each) =>
      each.kind === kind && this.#timesLeft(each) > 0 && each.when(machine)
    );
    if (fault !== undefined) this.#struck.set(fault, (this.#struck.get(fault) ?? 0) + 1);
    return fault;
  }

  #timesLeft(fault: Fault): number {
    return (fault.times ?? Infinity) - (this.#struck.get(fault) ?? 0);
  }
}

function checkScript(script: CloudScript): void {
  for (const [name, range] of [["bootSeconds", script.bootSeconds], ["readySeconds", script.readySeconds]] as const) {
    if (!(range.min >= 0 && range.max >= range.min)) {
      throw new Error(
        `Invalid script field "${name}": min ${range.min} and max ${range.max} are not a range of seconds`,
      );
    }
  }
  if (!(script.heartbeatSeconds > 0)) {
    throw new Error(`Invalid script field "heartbeatSeconds": ${script.heartbeatSeconds} is not greater than 0`);
  }
}
