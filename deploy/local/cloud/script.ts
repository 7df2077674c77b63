/** Inclusive bounds of a seeded draw, in seconds. */
export interface Range {
  min: number;
  max: number;
}

/** What the cloud knows of a machine when it asks the script about it; the kubelet is known once the machine is provisioned. */
export interface MachineFacts {
  name: string;
  /** 1 for the first machine this cloud saw, and so on. */
  ordinal: number;
  image: string;
  kubelet?: string | undefined;
}

/** What can go wrong with a machine, in the order of its life. */
export type FaultKind = "no-instance" | "no-boot" | "no-join" | "not-ready" | "die";

/** One thing to go wrong with the next machines that match. */
export interface Fault {
  kind: FaultKind;
  when: (machine: MachineFacts) => boolean;
  /** How many machines it strikes; every match when left out. */
  times?: number;
  /** Only for "die": seconds between Ready and death; 0 when left out. */
  afterSeconds?: number;
}

/** How machines behave. */
export interface CloudScript {
  /** From VirtualMachine to kubelet start, without the time real API calls take. */
  bootSeconds: Range;
  /** From Node registered to Node Ready. */
  readySeconds: Range;
  heartbeatSeconds: number;
  podStartSeconds: number;
  /** Pods end after their grace period, or after this if it is shorter. */
  maxPodGraceSeconds: number;
  /** Each step of a boot is tried so often, and so long, before the machine gives up. */
  bootAttempts: number;
  bootStepSeconds: number;
  /** The mirror has no such packages: a machine that is to install one gives up, and says so. */
  missingPackages: readonly string[];
  /** Machines are spread over these in the order of their orders; none has a zone when it is empty. */
  zones: readonly string[];
  faults: readonly Fault[];
}

/** Some of a script's fields: the rest stays as it is. */
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

/** The script as it stands, and who was struck by it so far. */
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

  /** Changes what happens from now on; a new fault list starts its counts anew. */
  change(change: ScriptChange): void {
    const next = { ...this.#current, ...change };
    checkScript(next);
    this.#current = next;
    if (change.faults !== undefined) this.#struck.clear();
  }

  /** Gives the first fault of this kind that strikes the machine, and counts it as used. */
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
      throw new Error(`Cannot use script field "${name}": min "${range.min}" and max "${range.max}" are no range`);
    }
  }
  if (!(script.heartbeatSeconds > 0)) {
    throw new Error(`Cannot use script field "heartbeatSeconds": "${script.heartbeatSeconds}" is not above 0`);
  }
}
