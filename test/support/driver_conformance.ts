/**
 * Tests what every cloud driver promises, also when its calls to the cloud fail; each driver runs this suite over a
 * cloud that a test can inspect.
 */
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import type { Driver, Instance } from "../../activities/clouds/driver.ts";
import { eventually } from "./eventually.ts";

/** A fault of a call of the driver to its cloud. */
export type Befalls = "CutBefore" | "CutAfter" | "Throttled" | "Broken";

/** The actual state of a group, whatever its cloud shows. */
export interface Truth {
  size: number;
  alive: number;
  tokens: string[];
  boots: string;
  templates: number;
}

/** A cloud with one group, its driver, and functions that read and change the actual state of the cloud. */
export interface CloudUnderTest extends AsyncDisposable {
  driver: Driver;
  /** ID of the group, which has 2 instances, a maximum of 4, and boots "image-1". */
  group: string;
  /** Other images in the cloud, which never had a template. */
  images: [string, string];
  /** Returns the number of calls to the cloud until now. */
  calls: () => number;
  /** Sets the fault of the call that follows after the given number of calls; undefined removes the fault. */
  befall: (fault: Befalls | undefined, after: number) => void;
  /** Actual size and instances, without those that are being deleted. */
  truth: () => Truth | Promise<Truth>;
  /** Makes all hidden instances visible. */
  show: () => void | Promise<void>;
  /** Completes all deletions. */
  settle: () => void | Promise<void>;
}

export interface CloudConditions {
  /** New instances are hidden until they are shown. */
  hidesNew?: boolean;
  /** Maximum number of instances by capacity. */
  capacity?: number;
}

type Open = (conditions?: CloudConditions) => CloudUnderTest | Promise<CloudUnderTest>;

const befalls: Befalls[] = ["CutBefore", "CutAfter", "Throttled", "Broken"];

/** Registers a test for each promise. */
export function conforms(title: string, open: Open): void {
  const test = (promise: string, fn: (cloud: CloudUnderTest) => Promise<void>, conditions?: CloudConditions): void => {
    Deno.test(`${title}: ${promise}`, async () => {
      await using cloud = await open(conditions);
      await fn(cloud);
    });
  };
  for (const verb of Object.keys(verbs) as (keyof typeof verbs)[]) {
    for (const fault of befalls) {
      test(`K22 ${verb}: has its effect once when it is repeated after ${fault} at each of its calls`, (cloud) =>
        interrupted(cloud, verb, fault));
    }
  }
  test("K7 remove: deletes an instance once, however often it is called", removesOnce);
  test(
    "remove: replaces the instance and keeps the size of the group, if the removal does not shrink the group",
    replaces,
  );
  test("K8 order: makes one instance for a repeated token, and two for two tokens (K16)", ordersByToken);
  test(
    "K9, K12 order: a new instance that the cloud does not list yet is Absent, and a repeated order makes no second instance",
    seesLate,
    {
      hidesNew: true,
    },
  );
  test("K10 order: refuses when the group has its maximum size, and keeps the size", isFull);
  test("K10 order: reports missing capacity, and keeps the size", hasNoRoom, { capacity: 2 });
  test("order: refuses a token that is too long, and changes nothing", refusesTooLong);
  test("K17 boot: the group boots the requested image, and a previous template can be used again", goesBack);
  test(
    "K18 boot: makes no template for the image that the group boots, and reuses an equal existing template",
    takesEqual,
  );
  test("K21 group IDs: are equal if they differ only in upper and lower case", anyCase);
  test("missing objects: reads return undefined, a removal returns Gone, and all other calls are refused", absent);
}

/** The verbs of a driver under interruption: each continues from any state that an earlier attempt has created. */
const verbs = {
  ensureImage: async ({ driver, group, images: [image] }: CloudUnderTest): Promise<void> => {
    equal((await driver.ensureImage({ group, image })).image, image);
  },
  order: async ({ driver, group }: CloudUnderTest): Promise<void> => {
    equal((await driver.order({ group, token: "t" })).outcome, "Ordered");
  },
  remove: async ({ driver, group }: CloudUnderTest): Promise<void> => {
    const [first] = await alive(driver, group);
    ok(first);
    // Ostler repeats an interrupted removal for the same instance. Here each attempt removes the first instance, until
    // one of the two is being deleted.
    if ((await alive(driver, group)).length < 2) return;
    await driver.remove({ group, providerId: first.providerId, shrinks: true });
  },
};

/** The exact result of each verb. */
const outcomes: Record<keyof typeof verbs, object> = {
  ensureImage: { size: 2, alive: 2, tokens: [] },
  order: { size: 3, alive: 3, tokens: ["t"] },
  remove: { size: 1, alive: 1, tokens: [] },
};

async function interrupted(cloud: CloudUnderTest, verb: keyof typeof verbs, fault: Befalls): Promise<void> {
  const before = await cloud.truth();
  // The first attempt fails at its first call, the second attempt at its second call, and so on, until an attempt has
  // no such call. Each continues from the state of the attempt before it.
  for (let nth = 0, isBefallen = true; isBefallen; nth++) {
    const first = cloud.calls();
    cloud.befall(fault, nth);
    await verbs[verb](cloud).catch((error: { type?: string }) => equal(error.type, "ApiUnavailable", String(error)));
    isBefallen = cloud.calls() - first > nth;
  }
  cloud.befall(undefined, 0);
  await verbs[verb](cloud);
  const { size, alive: left, tokens, boots, templates } = await cloud.truth();
  deepEqual({ size, alive: left, tokens }, outcomes[verb]);
  const isImage = verb === "ensureImage";
  deepEqual([boots, templates], isImage ? [cloud.images[0], before.templates + 1] : [before.boots, before.templates]);
}

async function alive(driver: Driver, group: string): Promise<Instance[]> {
  return (await driver.instances(group)).filter(({ state }) => state !== "Terminating");
}

async function removesOnce({ driver, group, truth, settle }: CloudUnderTest): Promise<void> {
  const [{ providerId } = { providerId: "" }] = await driver.instances(group);
  for (let nth = 0; nth < 3; nth++) equal(await driver.remove({ group, providerId, shrinks: true }), "Going");
  deepEqual([(await truth()).size, (await driver.instance(providerId))?.state], [1, "Terminating"]);
  await settle();
  equal(await driver.remove({ group, providerId, shrinks: true }), "Gone");
  deepEqual([(await truth()).size, (await truth()).alive, await driver.instance(providerId)], [1, 1, undefined]);
}

async function replaces({ driver, group, truth }: CloudUnderTest): Promise<void> {
  const [{ providerId } = { providerId: "" }] = await driver.instances(group);
  await driver.remove({ group, providerId, shrinks: false });
  await driver.remove({ group, providerId, shrinks: false });
  deepEqual([(await truth()).size, (await truth()).alive], [2, 2]);
}

async function ordersByToken({ driver, group, truth }: CloudUnderTest): Promise<void> {
  const both = ["a", "a", "b", "b"].map((token) => driver.order({ group, token }));
  const made = (await Promise.all(both)).map((each) => each.outcome === "Ordered" ? each.instance.providerId : "");
  deepEqual([made[0] === made[1], made[2] === made[3], made[0] === made[2]], [true, true, false]);
  const { size, alive: left, tokens } = await truth();
  deepEqual([size, left, tokens.sort()], [4, 4, ["a", "b"]]);
}

async function seesLate(cloud: CloudUnderTest): Promise<void> {
  const { driver, group, truth, show } = cloud;
  if (driver.capabilities.orders === "Difference") return await awaitsLate(cloud);
  const first = await driver.order({ group, token: "t" });
  ok(first.outcome === "Ordered");
  const { providerId } = first.instance;
  equal(await driver.instance(providerId), undefined);
  const again = await driver.order({ group, token: "t" });
  ok(again.outcome === "Ordered");
  // `since` may differ: only a client that has seen the instance knows its creation time.
  deepEqual(again.instance, { ...first.instance, since: again.instance.since });
  deepEqual([(await truth()).size, (await truth()).alive], [3, 3]);
  await show();
  equal((await driver.instance(providerId))?.token, "t");
}

/**
 * Orders from a driver that finds new instances only by comparing lists: the order returns when the instance is listed.
 */
async function awaitsLate({ driver, group, truth, show }: CloudUnderTest): Promise<void> {
  const first = driver.order({ group, token: "t" });
  await eventually("three machines", async () => (await truth()).alive >= 3);
  await show();
  deepEqual(await driver.order({ group, token: "t" }), await first);
  deepEqual([(await truth()).size, (await truth()).alive, (await truth()).tokens], [3, 3, ["t"]]);
}

async function isFull({ driver, group, truth }: CloudUnderTest): Promise<void> {
  for (const token of ["a", "b"]) await driver.order({ group, token });
  await rejects(driver.order({ group, token: "c" }), { type: "CloudRefused", nonRetryable: true });
  deepEqual([(await truth()).size, (await truth()).alive], [4, 4]);
}

async function hasNoRoom({ driver, group, truth }: CloudUnderTest): Promise<void> {
  equal((await driver.order({ group, token: "a" })).outcome, "NoCapacity");
  deepEqual([(await truth()).size, (await truth()).alive, (await truth()).tokens], [2, 2, []]);
}

async function refusesTooLong({ driver, group, truth, calls }: CloudUnderTest): Promise<void> {
  // A driver without `checkToken` accepts any token.
  if (!driver.checkToken) return;
  const order = { group, token: `${"a".repeat(300)}-new-1` };
  const refused = { type: "CloudRefused", nonRetryable: true };
  // The first call opens the driver in some tests, so this call is not counted.
  await driver.group(group);
  const before = calls();
  await rejects(async () => await driver.checkToken?.(order), refused);
  equal(calls(), before);
  await rejects(driver.order(order), refused);
  deepEqual([(await truth()).size, (await truth()).alive], [2, 2]);
  await driver.checkToken({ group, token: "workers-new-1" });
}

async function goesBack({ driver, group, images, truth }: CloudUnderTest): Promise<void> {
  const before = await driver.template(group);
  for (const image of images) deepEqual((await driver.ensureImage({ group, image })).image, image);
  equal((await truth()).boots, images[1]);
  deepEqual(await driver.ensureTemplate({ group, template: before.id }), before);
  deepEqual([(await truth()).boots, await driver.template(group)], [before.image, before]);
}

async function takesEqual({ driver, group, images: [image], truth }: CloudUnderTest): Promise<void> {
  const first = await driver.template(group);
  deepEqual(await driver.ensureImage({ group, image: first.image }), first);
  equal((await truth()).templates, 1);
  const second = await driver.ensureImage({ group, image });
  await driver.ensureTemplate({ group, template: first.id });
  deepEqual(await driver.ensureImage({ group, image }), second);
  equal((await truth()).templates, 2);
}

async function anyCase({ driver, group, truth }: CloudUnderTest): Promise<void> {
  const shout = group.toUpperCase();
  deepEqual(await driver.group(shout), await driver.group(group));
  await driver.order({ group: shout, token: "t" });
  await driver.order({ group, token: "t" });
  deepEqual([(await truth()).size, (await driver.instances(shout)).length], [3, 3]);
}

async function absent({ driver, group }: CloudUnderTest): Promise<void> {
  deepEqual([await driver.group("none"), await driver.instance("none")], [undefined, undefined]);
  equal(await driver.remove({ group, providerId: "none", shrinks: true }), "Gone");
  const refusals: (() => Promise<unknown>)[] = [
    ...[() => driver.template("none"), () => driver.ensureImage({ group, image: "none" })],
    ...[() => driver.ensureTemplate({ group, template: "none" }), () => driver.order({ group: "none", token: "t" })],
  ];
  for (const refusal of refusals) await rejects(refusal, { type: "CloudRefused", nonRetryable: true });
}
