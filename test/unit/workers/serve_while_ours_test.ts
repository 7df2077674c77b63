import { deepEqual, equal, rejects } from "node:assert/strict";
import { ClusterConflict } from "../../../workers/claim.ts";
import { serveWhileOurs } from "../../../workers/serve_while_ours.ts";
import { TemporalTrouble } from "../../../workers/temporal_trouble.ts";
import { eventually } from "../../support/eventually.ts";

const pauses = { first: 1, last: 4, away: 4, serving: 2 };

/** Runs serveWhileOurs with a fake claim; each check of it fails with `trouble`, or succeeds if that is undefined. */
class Place {
  trouble: Error | undefined;
  looks = 0;
  serving = false;
  served = 0;
  readonly lines: string[] = [];
  readonly stop = new AbortController();

  run(work = (serving: AbortSignal): Promise<void> => this.#until(serving)): Promise<void> {
    const say = (message: string): void => void this.lines.push(message);
    const claim = (): Promise<void> => {
      this.looks += 1;
      return this.trouble ? Promise.reject(this.trouble) : Promise.resolve();
    };
    return serveWhileOurs(
      { claim, log: { info: say, warn: say, error: say }, signal: this.stop.signal, pauses },
      work,
    );
  }

  async #until(serving: AbortSignal): Promise<void> {
    this.serving = true;
    this.served += 1;
    await new Promise((resolve) => serving.addEventListener("abort", resolve));
    this.serving = false;
  }
}

Deno.test("serveWhileOurs: serves nothing while another process has the claim, logs that once, and begins when the claim is free", async () => {
  const place = new Place();
  place.trouble = new ClusterConflict("Cannot serve it: another has it");
  const running = place.run();
  await eventually("many looks", () => place.looks > 5);
  deepEqual([place.lines, place.served], [["Cannot serve it: another has it"], 0]);
  place.trouble = undefined;
  await eventually("service", () => place.serving);
  place.stop.abort();
  await running;
});

Deno.test("serveWhileOurs: stops when it loses the claim, and starts again when the claim is free", async () => {
  const place = new Place();
  const running = place.run();
  await eventually("service", () => place.serving);
  place.trouble = new ClusterConflict("another has it");
  await eventually("the end of the service", () => !place.serving);
  place.trouble = undefined;
  await eventually("service again", () => place.serving);
  equal(place.served, 2);
  place.stop.abort();
  await running;
});

Deno.test("serveWhileOurs: continues to serve during a Temporal outage, and waits at its start until an outage ends", async () => {
  const place = new Place();
  place.trouble = new Error("Temporal is down");
  const running = place.run();
  await eventually("looks", () => place.looks > 3);
  equal(place.lines.length, 1);
  place.trouble = undefined;
  await eventually("service", () => place.serving);
  place.trouble = new Error("Temporal is down");
  const before = place.looks;
  await eventually("more looks", () => place.looks > before + 3);
  deepEqual([place.serving, place.served], [true, 1]);
  place.stop.abort();
  await running;
});

Deno.test("serveWhileOurs: passes on the failure of its work", async () => {
  const place = new Place();
  await rejects(place.run(() => Promise.reject(new Error("no profiles"))), { message: "no profiles" });
});

Deno.test("serveWhileOurs: logs a refusal of Temporal once, unchanged, and serves nothing", async () => {
  const place = new Place();
  place.trouble = new TemporalTrouble("Cannot use it: it does not exist");
  const running = place.run();
  await eventually("many looks", () => place.looks > 5);
  deepEqual([place.lines, place.served], [["Cannot use it: it does not exist"], 0]);
  place.stop.abort();
  await running;
});
