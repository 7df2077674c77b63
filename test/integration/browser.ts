/** The web UI as a person sees it: opens the page of a run, reads it, and takes a screenshot. */
import { existsSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { chromium } from "playwright-core";
import type { FrameLocator, Page } from "playwright-core";
import { NotYet } from "../../deploy/local/process/wait_until.ts";
import { eventually } from "../support/eventually.ts";
import type { World } from "./world.ts";

/** The path of Debian's package; CHROMIUM names another one. */
export const chromiumPath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";

/** Whether a browser is installed. */
export const hasChromium = existsSync(chromiumPath);

/** Time limit (ms) for a page to show the expected text, because a page can load slowly on a busy machine. */
const patienceMs = 180_000;

/** Pause between two reads (ms), because loading the page keeps a core busy for seconds. */
const betweenLooksMs = 1_500;

/** The page "User Metadata" of a run. */
export interface RunPage {
  /** Headline, paragraphs, lists and tables of the current details. */
  details: string;
  tables: number;
  /** Text of the page's frame, as a person sees it. */
  summary: string;
  file: string;
}

export class Browser {
  private constructor(readonly folder: string, readonly page: Page, readonly close: () => Promise<void>) {}

  /** Opens a browser; screenshots are stored in OSTLER_SCREENSHOTS, or in a new temporary folder. */
  static async open(): Promise<Browser> {
    const folder = process.env["OSTLER_SCREENSHOTS"] ?? await mkdtemp(join(tmpdir(), "ostler-screenshots-"));
    const browser = await chromium.launch({ executablePath: chromiumPath, args: ["--no-sandbox"] });
    const page = await browser.newPage({ viewport: { width: 1400, height: 1200 } });
    return new Browser(folder, page, () => browser.close());
  }

  /** Opens the newest run of a pool until its page contains `expected`, and stores the screenshot as `name`. */
  async look(
    world: World,
    { name, pool, expected }: { name: string; pool: string; expected: RegExp },
  ): Promise<RunPage> {
    const workflowId = `machine-deployment/kube-system/${pool}`;
    // Each read must end before the next one begins: an abandoned read would continue to load, and replace the page
    // that the next read opens.
    const seen = await eventually(`the page of a run with ${expected}`, async () => {
      const frame = await this.#open(world, workflowId);
      const details = await frame.locator("body").innerText({ timeout: 20_000 }).catch(String);
      if (expected.test(details)) return { details, tables: await frame.locator("table").count() };
      throw new NotYet(details);
    }, { withinMs: patienceMs, pausesMs: [betweenLooksMs, betweenLooksMs] });
    const file = join(this.folder, `${name}.png`);
    await this.page.screenshot({ path: file, fullPage: true });
    const summary = await this.page.frameLocator("iframe").first().locator("body").innerText();
    // An open page keeps loading and drawing between two reads of this test.
    await this.page.goto("about:blank");
    return { ...seen, file, summary };
  }

  /**
   * Opens the page of the newest run; the details are in a separate frame, which appears when a worker has answered.
   */
  async #open({ temporal, site }: World, workflowId: string): Promise<FrameLocator> {
    const { runId } = await temporal.workflow.getHandle(workflowId).describe();
    const { uiUrl, namespace } = site.stack.temporal;
    const path = `/namespaces/${namespace}/workflows/${encodeURIComponent(workflowId)}/${runId}/user-metadata`;
    await this.page.goto(`${uiUrl}${path}`);
    return this.page.frameLocator('iframe[title="output"]').last();
  }
}
