import { join } from "node:path";
import { freePorts } from "../process/free_ports.ts";
import type { NodePrograms } from "../tools/node_programs.ts";
import type { Answer } from "./answer.ts";
import type { DebianArchives } from "./debian_archives.ts";
import { imageNames, prepareImages } from "./images.ts";
import { type LayoutImage, serveLayout } from "./layout_image.ts";
import { listen } from "./listener.ts";
import { passPackagesOn } from "./packages.ts";
import { prepareReleases, type Releases } from "./releases.ts";

/** What the mirror serves, and to whom. */
export interface MirrorOptions {
  /** The address to listen on, one that machines reach. */
  readonly address: string;
  /** Keeps archives and packages from one run to the next. */
  readonly directory: string;
  readonly programs: NodePrograms;
  /** Where Debian's packages come from. */
  readonly archives: DebianArchives;
  /** Images beside those of our own programs. */
  readonly layouts?: readonly LayoutImage[];
  /** Hears of each request when it was answered: `GET /path 200`. */
  readonly log?: (line: string) => void;
}

/** "down" closes the port, so that connections are refused; "wrong-checksum" publishes another SHA-256 for the file of that name. */
export type MirrorFault = { readonly kind: "down" } | { readonly kind: "wrong-checksum"; readonly file: string };

/** Serves all that a machine downloads: release files at `url`, packages, and the images of its pods. */
export interface Mirror {
  /** Ostler's setting `binaries-url`. */
  readonly url: string;
  /** A profile's parameter `packageMirror`. */
  readonly packagesUrl: string;
  /** Ostler's setting `node-containerd-registry-mirrors`: these images come over plain HTTP. */
  readonly registryMirror: string;
  /** Whole names of images, with this mirror as their registry. */
  readonly images: Readonly<Record<keyof typeof imageNames, string>>;
  /** What goes wrong from now on; undefined heals. */
  fault(fault: MirrorFault | undefined): Promise<void>;
  /** The last 10,000 requests that were answered: `GET /path 200`. */
  requests(): readonly string[];
  stop(): Promise<void>;
}

const keptRequests = 10_000;

/** Prepares the files, which takes seconds the first time, and listens. */
export async function startMirror(options: MirrorOptions): Promise<Mirror> {
  const downloads = new AbortController();
  const { releases, answers } = await prepareAnswers(options, downloads.signal);
  const requests: string[] = [];
  const [port = 0] = await freePorts(1);
  const listener = await listen({ address: options.address, port }, (request) => firstOf(answers, request), (line) => {
    if (requests.push(line) > keptRequests) requests.shift();
    options.log?.(line);
  });
  const { host } = listener;
  const url = `http://${host}`;
  return {
    url,
    packagesUrl: `${url}/packages`,
    registryMirror: `${host}=${url}`,
    images: { pause: `${host}/${imageNames.pause}`, podServer: `${host}/${imageNames.podServer}` },
    async fault(fault): Promise<void> {
      releases.spoilChecksum(fault?.kind === "wrong-checksum" ? fault.file : undefined);
      await (fault?.kind === "down" ? listener.close() : listener.open());
    },
    requests: () => [...requests],
    async stop(): Promise<void> {
      downloads.abort(new Error("the mirror stops"));
      await listener.close();
    },
  };
}

async function prepareAnswers(
  { directory, programs, archives, layouts = [] }: MirrorOptions,
  signal: AbortSignal,
): Promise<{ releases: Releases; answers: Answer[] }> {
  const files = join(directory, "files");
  const releases = await prepareReleases(files, programs);
  const images = await prepareImages(files, programs);
  const packages = passPackagesOn({ directory: join(directory, "packages"), archives, signal });
  const others = await Promise.all(layouts.map(serveLayout));
  // The registry itself says what it does not know, so it is asked last.
  return { releases, answers: [releases.answer, ...others, images, packages] };
}

async function firstOf(answers: readonly Answer[], request: Request): Promise<Response> {
  const path = new URL(request.url).pathname.slice(1);
  for (const answer of answers) {
    const response = await answer(request, path);
    if (response !== undefined) return response;
  }
  return new Response(`There is nothing at "/${path}"\n`, { status: 404 });
}
