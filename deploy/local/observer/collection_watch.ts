import { setTimeout as pause } from "node:timers/promises";
import { waitUntil } from "../process/wait_until.ts";
import type { Source, SourceEvent } from "./api_source.ts";
import { type ApiObject, nameOf } from "./pool_facts.ts";

/** The collection to watch, and the listener to its changes. */
interface Watching {
  readonly source: Source;
  /** API path of the collection. */
  readonly path: string;
  /** Returns the fact to keep for an object; undefined to ignore the object. */
  readonly read: (object: ApiObject) => boolean | undefined;
  /** Called after each change with the facts of all objects, by the name of the object. */
  readonly changed: (facts: ReadonlyMap<string, boolean>) => void;
  /** How long the final check waits for changes that were not received yet, in milliseconds. */
  readonly lastLookMs: number;
}

const firstListMs = 30_000;
const pauseMs = 250;

/** Follows all changes of a collection; records a gap for each period in which changes may have been missed. */
export class CollectionWatch {
  readonly #watching: Watching;
  readonly #stopping = new AbortController();
  readonly #gaps: string[] = [];
  #facts = new Map<string, boolean>();
  #version: string | undefined;
  #resumes = 0;
  #isCut = false;
  #following: Promise<void> = Promise.resolve();

  constructor(watching: Watching) {
    this.#watching = watching;
  }

  /** Descriptions of periods in which changes may have been missed. */
  get gaps(): readonly string[] {
    return this.#gaps;
  }

  /**
   * Number of times that changes arrived again after a watch had ended; the next watch continued from the last known
   * version.
   */
  get resumes(): number {
    return this.#resumes;
  }

  /** Resolves when the collection is listed and watched; rejects if it cannot be listed within 30 s. */
  async start(): Promise<void> {
    await waitUntil(() => this.#list(), { what: `a list of "${this.#watching.path}"`, timeoutMs: firstListMs });
    this.#following = this.#follow();
  }

  /** Compares the watched state with a new list until both agree; records a gap if they do not agree in time. */
  async catchUp(): Promise<void> {
    const { path, lastLookMs } = this.#watching;
    const agree = async (): Promise<void> => {
      const listed = this.#factsOf((await this.#watching.source.list(path)).objects);
      const missed = differences(this.#facts, listed);
      if (missed.length > 0) throw new Error(`the watch has not seen changes of ${missed.join(", ")}`);
    };
    await waitUntil(agree, { what: `the watch of "${path}" to catch up`, timeoutMs: lastLookMs })
      .catch((error: unknown) => this.#gaps.push(error instanceof Error ? error.message : String(error)));
  }

  /** Stops watching. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#following;
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      if (this.#version === undefined) await this.#list().catch(() => {});
      const end = await this.#watchOnce();
      if (signal.aborted) return;
      if (end === "expired") this.#lose();
      this.#isCut = end === "ended";
      await pause(pauseMs, undefined, { signal }).catch(() => {});
    }
  }

  async #watchOnce(): Promise<"ended" | "expired" | "unlisted"> {
    if (this.#version === undefined) return "unlisted";
    const from = { path: this.#watching.path, version: this.#version, signal: this.#stopping.signal };
    return await this.#watching.source.watch(from, (event) => this.#take(event));
  }

  async #list(): Promise<void> {
    const { version, objects } = await this.#watching.source.list(this.#watching.path);
    this.#facts = this.#factsOf(objects);
    this.#version = version;
    this.#watching.changed(this.#facts);
  }

  #lose(): void {
    this.#gaps.push(
      `Changes of "${this.#watching.path}" after version ${this.#version} are unknown: the server no longer has them`,
    );
    this.#version = undefined;
  }

  #take({ type, object }: SourceEvent): void {
    this.#version = object.metadata?.resourceVersion ?? this.#version;
    if (this.#isCut) this.#resumes += 1;
    this.#isCut = false;
    const fact = type === "BOOKMARK" ? undefined : this.#watching.read(object);
    if (fact === undefined) return;
    if (type === "DELETED") this.#facts.delete(nameOf(object));
    else this.#facts.set(nameOf(object), fact);
    this.#watching.changed(this.#facts);
  }

  #factsOf(objects: readonly ApiObject[]): Map<string, boolean> {
    const facts = new Map<string, boolean>();
    for (const object of objects) {
      const fact = this.#watching.read(object);
      if (fact !== undefined) facts.set(nameOf(object), fact);
    }
    return facts;
  }
}

function differences(one: ReadonlyMap<string, boolean>, other: ReadonlyMap<string, boolean>): string[] {
  return [...new Set([...one.keys(), ...other.keys()])].filter((name) => one.get(name) !== other.get(name));
}
