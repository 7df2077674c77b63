/** Counts the Auto Scaling groups of a cluster twice, with the credentials that the environment names. */
import { openAws } from "../../../../../activities/clouds/aws.ts";

const [endpoint = ""] = Deno.args;
for (const _ of ["first", "second"]) {
  const driver = await openAws({ region: "eu-west-1", endpoint, clusterTag: "it" });
  const { groups } = await driver.groups();
  await Deno.stdout.write(new TextEncoder().encode(`${groups.length}\n`));
}
