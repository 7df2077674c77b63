import { moveIn } from "./installed/move_in.ts";
import { notices } from "./installed/notices.ts";
import { rollHome } from "./installed/roll_home.ts";
import { rollThroughTrouble } from "./installed/roll_through_trouble.ts";
import { scrapeAll } from "./installed/scrape_all.ts";
import type { Play, Story } from "./story.ts";

/** Ends when a person promotes the wave: whatever goes wrong on the way, it is in the midst of the rollout. */
const untilPromoted = "4h";

/** Ostler by its chart, in pods on machines that it made itself; it rolls another pool through all sorts of trouble, and then its own. */
export const installed: Story = {
  title: "In one rollout leaders go, Temporal is cut off, certificates and nodes change, and a new version comes",
  replicas: 3,
  surge: 1,
  namespace: "ostler",
  policy: {
    waves: [{ upTo: 1, soak: untilPromoted }, { upTo: 2, soak: untilPromoted }, { upTo: "100%" }],
  },
  prepare: moveIn,
  async tell(play: Play): Promise<void> {
    await rollThroughTrouble(play);
    await notices(play);
    await scrapeAll(play);
    await rollHome(play);
  },
};
