/** Counts the Auto Scaling groups of a cluster with one driver, again after each failure, at most five times. */
import { openAws } from "../../../../../activities/clouds/aws.ts";

const [endpoint = ""] = Deno.args;
const driver = await openAws({ region: "eu-west-1", endpoint, clusterTag: "it", requestMs: 300 });
for (let nth = 1; nth <= 5; nth++) {
  const answer = await driver.groups().then(({ groups }) => groups.length, (error) => error.type as string);
  await Deno.stdout.write(new TextEncoder().encode(`${answer}\n`));
  if (answer === 0) break;
  await new Promise((resolve) => setTimeout(resolve, 2_000));
}
