import { isAdmitted } from "../../../installation/is_admitted.ts";
import type { Pod } from "../../../installation/ostler_pods.ts";
import type { Play } from "../story.ts";
import { installationOf } from "./home.ts";

/** Kubelets look at Secrets about once a minute, and processes at their files every ten seconds. */
const arrivalSeconds = 180;

/** What a process says that goes on by them. */
const connectedAnew = "Connected to Temporal with what lets us in now";

/** The names of the pods that have to take the new ones as they run: who stands by is not connected. */
export type Before = readonly string[];

/** Secrets change while what they had still counts: certificate, key and CA for Temporal, and where notices go. */
export async function giveNewAccess(play: Play): Promise<Before> {
  const { narrator, stage } = play;
  const installation = installationOf(play);
  const leader = await installation.pods.leader();
  const isConnected = ({ name, process }: Pod): boolean => process === "worker" || name === leader;
  const before = (await installation.pods.all()).filter(isConnected).map(({ name }) => name);
  narrator.say("  certificate, key and CA for Temporal change in their Secrets, and the address of the notices");
  installation.notices.moveOn();
  await stage.until("the Secrets", installation.give(await installation.temporal.nextAccess()));
  return before;
}

/** Once every process has connected anew, the old certificate is refused. */
export async function retireOldAccess(play: Play, before: Before): Promise<void> {
  const { cluster, narrator, stage, checks } = play;
  const installation = installationOf(play);
  const { temporal, pods } = installation;
  const left = await cluster.until("all processes to connect anew", async () => {
    const names = (await pods.all()).map(({ name }) => name).filter((name) => before.includes(name));
    const said = await Promise.all(names.map((name) => installation.hasSaid(name, connectedAnew)));
    return temporal.isReached && !said.includes(false) && names;
  }, arrivalSeconds);
  checks.add({ name: "processes connected anew as they ran", ok: left.length > 0, detail: left.join(", ") });
  narrator.say("  the old CA counts no more");
  await stage.until("the old CA to go", temporal.retire());
  const [old, next] = [await temporal.oldAccess(), await temporal.nextAccess()];
  const seen = [await isAdmitted(temporal.address, old), await isAdmitted(temporal.address, next)];
  checks.equal("the old certificate is refused, the new one lets in", { seen, wanted: [false, true] });
}
