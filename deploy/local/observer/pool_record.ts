import { MachineLives } from "./machine_lives.ts";
import type { ObserverReport, Property, Violation } from "./observer_report.ts";
import type { Facts, Kind } from "./pool_facts.ts";

/** The properties to check. */
interface PoolRules {
  /** Minimum number of Ready nodes. */
  readonly replicas: number;
  /** Maximum number of machines. */
  readonly allowedMachines: number;
  /** Secrets that must always exist with their data. */
  readonly secrets: readonly string[];
}

type Findings = Record<Property, { names: string[]; message: string } | undefined>;

/** Checks a pool at every change after `arm`, and records extremes and violations. */
export class PoolRecord {
  readonly #rules: PoolRules;
  readonly #now: () => string;
  readonly #facts: Record<Kind, Facts> = {
    nodes: new Map(),
    instances: new Map(),
    machines: new Map(),
    secrets: new Map(),
  };
  readonly #violations: Violation[] = [];
  readonly #lives: MachineLives;
  #broken: Partial<Record<Property, string>> = {};
  #armedAt: string | undefined;
  #extremes = { ready: Infinity, instances: 0, objects: 0 };
  #events = 0;

  /** Creates a record; `now` returns times in RFC 3339. */
  constructor(rules: PoolRules, now: () => string = () => new Date().toISOString()) {
    this.#rules = rules;
    this.#now = now;
    this.#lives = new MachineLives(now);
  }

  /** Starts the checks, beginning with the current state. */
  arm(): void {
    this.#armedAt ??= this.#now();
    this.#check();
  }

  /** Records the state of all objects of one kind after a change. */
  see(kind: Kind, facts: Facts): void {
    this.#facts[kind] = new Map(facts);
    this.#lives.see(kind, facts);
    if (this.#armedAt === undefined) return;
    this.#events += 1;
    this.#check();
  }

  /** Returns the observations so far; `gaps` describe periods in which changes may have been missed. */
  report(gaps: readonly string[], resumes: number): ObserverReport {
    const violations = this.#violations.map((violation) => ({ ...violation, names: [...violation.names] }));
    const holds = (property: Property): boolean =>
      this.#armedAt !== undefined && violations.every((violation) => violation.property !== property);
    const { ready, instances, objects } = this.#extremes;
    const { replicas, allowedMachines, secrets } = this.#rules;
    return {
      ok: this.#armedAt !== undefined && violations.length === 0 && gaps.length === 0,
      armedAt: this.#armedAt,
      readyNodes: { min: Number.isFinite(ready) ? ready : 0, wanted: replicas, ok: holds("readyNodes") },
      machines: { max: instances, objects, allowed: allowedMachines, ok: holds("machines") },
      secrets: {
        watched: [...secrets],
        missing: violations.filter(({ property }) => property === "secrets").length,
        ok: holds("secrets"),
      },
      gaps: [...gaps],
      resumes,
      events: this.#events,
      violations,
      lives: this.#lives.list(),
    };
  }

  #check(): void {
    const ready = this.#readyNodes();
    const instances = [...this.#facts.instances.keys()];
    const objects = namesWhere(this.#facts.machines, true);
    this.#extremes = {
      ready: Math.min(this.#extremes.ready, ready.length),
      instances: Math.max(this.#extremes.instances, instances.length),
      objects: Math.max(this.#extremes.objects, objects.length),
    };
    this.#note({
      readyNodes: this.#findTooFew(ready),
      machines: this.#findTooMany(instances, objects),
      secrets: this.#findMissing(),
    });
  }

  // A Node counts only while its instance exists, because the Node of a deleted machine remains Ready for a while.
  #readyNodes(): string[] {
    return namesWhere(this.#facts.nodes, true).filter((name) => this.#facts.instances.has(name));
  }

  #findTooFew(ready: string[]): Findings["readyNodes"] {
    const { replicas } = this.#rules;
    if (ready.length >= replicas) return undefined;
    return { names: ready, message: `${ready.length} nodes were Ready, ${replicas} are wanted` };
  }

  #findTooMany(instances: string[], objects: string[]): Findings["machines"] {
    const { allowedMachines } = this.#rules;
    const [names, what] = instances.length >= objects.length ? [instances, "machines"] : [objects, "Machine objects"];
    if (names.length <= allowedMachines) return undefined;
    return { names, message: `There were ${names.length} ${what}, ${allowedMachines} are allowed` };
  }

  #findMissing(): Findings["secrets"] {
    const names = this.#rules.secrets.filter((name) => this.#facts.secrets.get(name) !== true);
    if (names.length === 0) return undefined;
    const states = names.map((name) => `"${name}" ${this.#facts.secrets.has(name) ? "had no data" : "was missing"}`);
    return { names, message: `Secret ${states.join(", ")}` };
  }

  // A violation is recorded once, and again only when its message changes or after it had ended.
  #note(findings: Findings): void {
    for (const property of Object.keys(findings) as Property[]) {
      const finding = findings[property];
      if (finding !== undefined && finding.message !== this.#broken[property]) {
        this.#violations.push({ at: this.#now(), property, ...finding });
      }
      if (finding === undefined) delete this.#broken[property];
      else this.#broken[property] = finding.message;
    }
  }
}

function namesWhere(facts: Facts, fact: boolean): string[] {
  return [...facts].filter(([, each]) => each === fact).map(([name]) => name);
}
