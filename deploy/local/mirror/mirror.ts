import { basename, join } from "node:path";
import { freePorts } from "../process/free_ports.ts";
import type { NodePrograms } from "../tools/node_programs.ts";
import { type Answer, sendFile } from "./answer.ts";
import type { DebianArchives } from "./debian_archives.ts";
import { imageNames, prepareImages } from "./images.ts";
import { type LayoutImage, serveLayout } from "./layout_image.ts";
import { passPackagesOn } from "./packages.ts";
import { type ReleaseFile, releaseFiles } from "./release_files.ts";
import { type StoredFile, storeFile } from "./stored_file.ts";

/** What the mirror serves, and to whom. */
interface MirrorOptions {
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
type MirrorFault = { readonly kind: "down" } | { readonly kind: "wrong-checksum"; readonly file: string };

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

/** The release files of all programs, with their checksums. */
interface Releases {
  readonly answer: Answer;
  /** Publishes another SHA-256 for the file of this name, or, without one, the right ones only; throws where there is no such file. */
  spoilChecksum(file: string | undefined): void;
}

type Kept = ReleaseFile & { readonly stored: StoredFile };

/** Prepares the release files in a directory, one after the other. */
async function prepareReleases(directory: string, programs: NodePrograms): Promise<Releases> {
  const kept: Kept[] = [];
  for (const file of releaseFiles(programs)) kept.push({ ...file, stored: await storeFile(directory, file.content) });
  let spoilt: string | undefined;
  return {
    async answer(request, path): Promise<Response | undefined> {
      const file = kept.find((one) => one.path === path);
      if (file !== undefined) return await sendFile(request, file.stored);
      const published = kept.find((one) => one.checksumPath === path);
      return published && new Response(checksumText(published, spoilt));
    },
    spoilChecksum(file): void {
      const names = kept.map(({ path }) => basename(path));
      if (file === undefined || names.includes(file)) return void (spoilt = file);
      throw new Error(`Cannot spoil the checksum of "${file}": the files are ${names.join(", ")}`);
    },
  };
}

function checksumText({ path, isNamed, stored: { sha256 } }: Kept, spoilt: string | undefined): string {
  const name = basename(path);
  const sum = name === spoilt ? [...sha256].reverse().join("") : sha256;
  return isNamed ? `${sum}  ${name}\n` : sum;
}

/** A port that can be closed and opened again. */
interface Listener {
  /** Address and port, as they stand in a URL. */
  readonly host: string;
  /** Ends all connections; from then on they are refused. */
  close(): Promise<void>;
  /** Listens again at the same port; does nothing where it does. */
  open(): Promise<void>;
}

/** Where to listen. */
interface Place {
  readonly address: string;
  readonly port: number;
}

type Handle = (request: Request) => Promise<Response>;

/** Answers GET and HEAD; `onAnswered` hears `GET /path status` of each request. */
async function listen(place: Place, handle: Handle, onAnswered: (line: string) => void): Promise<Listener> {
  let running: { server: Deno.HttpServer; abort: AbortController } | undefined;
  const answer = async (request: Request): Promise<Response> => {
    const response = await handleSafely(request, handle);
    onAnswered(`${request.method} ${new URL(request.url).pathname} ${response.status}`);
    return response;
  };
  const open = (): Promise<void> => {
    if (running !== undefined) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    const abort = new AbortController();
    const { address: hostname, port } = place;
    running = {
      abort,
      server: Deno.serve({ hostname, port, signal: abort.signal, onListen: () => resolve() }, answer),
    };
    return promise;
  };
  const close = async (): Promise<void> => {
    const { server, abort } = running ?? {};
    running = undefined;
    abort?.abort();
    await server?.finished;
  };
  await open();
  return { host: `${place.address.includes(":") ? `[${place.address}]` : place.address}:${place.port}`, open, close };
}

async function handleSafely(request: Request, handle: Handle): Promise<Response> {
  if (!["GET", "HEAD"].includes(request.method)) return new Response("This is read only\n", { status: 405 });
  try {
    return await handle(request);
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    return new Response(`Cannot answer: ${said}\n`, { status: 500 });
  }
}
