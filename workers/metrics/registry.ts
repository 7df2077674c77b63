/** The metrics of a process in prom-client, which is loaded only if metrics are enabled. */
import type { Counter, Gauge, Histogram, Registry } from "prom-client";
import { type Measured, type Metric, type MetricName, metrics, type NameOf } from "./table.ts";

type Labels = Record<string, string>;

/** Maximum characters of a label's value. */
const longestLabel = 200;

/** The registry of one process. */
export class Metrics {
  readonly #registry: Registry;
  readonly #kept: ReadonlyMap<MetricName, Counter | Gauge | Histogram>;
  readonly #series = new BoundedSeries();
  readonly #fills: (() => void)[] = [];

  constructor(registry: Registry, kept: ReadonlyMap<MetricName, Counter | Gauge | Histogram>) {
    this.#registry = registry;
    this.#kept = kept;
  }

  /** Returns the answer to a scrape, and its content type. */
  async scrape(): Promise<{ text: string; contentType: string }> {
    for (const fill of this.#fills) fill();
    return { text: await this.#registry.metrics(), contentType: this.#registry.contentType };
  }

  /** Registers a function that runs before each scrape, for values that are read rather than counted. */
  onScrape(fill: () => void): void {
    this.#fills.push(fill);
  }

  add(name: NameOf<"counter">, labels: Labels = {}, by = 1): void {
    this.#of<Counter>(name).inc(clipped(labels), by);
  }

  /** Sets a counter that another component counts. */
  setTotal(name: NameOf<"counter">, total: number): void {
    const counter = this.#of<Counter>(name);
    counter.reset();
    counter.inc(total);
  }

  set(name: NameOf<"gauge">, value: number, labels: Labels = {}): void {
    this.#of<Gauge>(name).set(clipped(labels), value);
  }

  /** Removes all values of a gauge. */
  clear(name: NameOf<"gauge">): void {
    const gauge = this.#of<Gauge>(name);
    gauge.reset();
    // Without labels, a reset gauge would be exported as 0.
    gauge.remove({});
  }

  observe(name: NameOf<"histogram">, seconds: number, labels: Labels = {}): void {
    const histogram = this.#of<Histogram>(name);
    const bounded = clipped(labels);
    for (const old of this.#series.use(name, bounded)) histogram.remove(old);
    histogram.observe(bounded, seconds);
  }

  #of<Kind>(name: MetricName): Kind {
    const found = this.#kept.get(name);
    if (!found) throw new Error(`Failed to measure "${name}": it is not a metric of this process`);
    return found as Kind;
  }
}

/** Creates the metrics of a process, without values except for counters that are exported as 0 from the start. */
export async function createMetrics(process: Measured): Promise<Metrics> {
  const { Counter, Gauge, Histogram, Registry } = await import("prom-client");
  const registry = new Registry();
  const make = (name: MetricName): Counter | Gauge | Histogram => {
    const { type, help, labels = [], buckets = [], fromStart = [] }: Metric = metrics[name];
    const options = { name, help, labelNames: [...labels], registers: [registry] };
    if (type === "histogram") return new Histogram({ ...options, buckets: [...buckets] });
    if (type === "gauge") return new Gauge(options);
    const counter = new Counter(options);
    for (const series of fromStart) counter.inc(series, 0);
    return counter;
  };
  const names = (Object.keys(metrics) as MetricName[]).filter((name) =>
    (metrics[name].of as readonly Measured[]).includes(process)
  );
  return new Metrics(registry, new Map(names.map((name) => [name, make(name)])));
}

function clipped(labels: Labels): Labels {
  return Object.fromEntries(Object.entries(labels).map(([name, value]) => [name, value.slice(0, longestLabel)]));
}

// Limits the series of a metric, because each change of a fleet adds series that would accumulate.

/** Maximum series per metric; a thousand pools have one series each for their current image. */
const mostSeries = 1_000;

/** The series of each metric, in the order of their last use. */
export class BoundedSeries {
  readonly #used = new Map<string, Map<string, Record<string, string>>>();
  readonly #most: number;

  constructor(most = mostSeries) {
    this.#most = most;
  }

  /** Records a use; returns the least recently used series beyond the maximum, which the caller must remove. */
  use(metric: string, labels: Record<string, string>): Record<string, string>[] {
    const used = this.#used.get(metric) ?? new Map<string, Record<string, string>>();
    this.#used.set(metric, used);
    const key = JSON.stringify(Object.entries(labels).sort());
    used.delete(key);
    used.set(key, labels);
    const old = [...used.keys()].slice(0, Math.max(0, used.size - this.#most));
    return old.flatMap((each) => {
      const found = used.get(each);
      used.delete(each);
      return found ? [found] : [];
    });
  }
}
