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

/** Options of the mirror. */
interface MirrorOptions {
  /** Address to listen on, which machines must be able to reach. */
  readonly address: string;
  /** Folder that keeps archives and packages between runs. */
  readonly directory: string;
  readonly programs: NodePrograms;
  /** Archives of Debian packages. */
  readonly archives: DebianArchives;
  /** Additional images, besides those of the project's own programs. */
  readonly layouts?: readonly LayoutImage[];
  /** Called after each response: `GET /path 200`. */
  readonly log?: (line: string) => void;
}

/**
 * A simulated fault: "down" closes the port, so that connections are refused; "wrong-bytes" serves wrong content for a
 * file.
 */
type MirrorFault = { readonly kind: "down" } | { readonly kind: "wrong-bytes"; readonly file: string };

/** Serves everything that a machine downloads: release files at `url`, packages, and images of pods. */
export interface Mirror {
  /** Value of Ostler's setting `binaries-url`. */
  readonly url: string;
  /** Value of Ostler's setting `binaries-digests`. */
  readonly digests: string;
  /** Value of a profile's parameter `packageMirror`. */
  readonly packagesUrl: string;
  /** Value of Ostler's setting `node-containerd-registry-mirrors`: machines pull images over plain HTTP. */
  readonly registryMirror: string;
  /** Full names of images, with this mirror as registry. */
  readonly images: Readonly<Record<keyof typeof imageNames, string>>;
  /** Sets the current fault; undefined removes it. */
  fault(fault: MirrorFault | undefined): Promise<void>;
  /** Returns the last 10,000 requests with their status: `GET /path 200`. */
  requests(): readonly string[];
  stop(): Promise<void>;
}

const keptRequests = 10_000;

/** Prepares the files, which takes some seconds in a new directory, and starts to listen. */
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
    digests: releases.digests,
    packagesUrl: `${url}/packages`,
    registryMirror: `${host}=${url}`,
    images: { pause: `${host}/${imageNames.pause}`, podServer: `${host}/${imageNames.podServer}` },
    async fault(fault): Promise<void> {
      releases.spoil(fault?.kind === "wrong-bytes" ? fault.file : undefined);
      await (fault?.kind === "down" ? listener.close() : listener.open());
    },
    requests: () => [...requests],
    async stop(): Promise<void> {
      downloads.abort(new Error("the mirror is stopping"));
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
  // `images` responds 404 to all names that it does not know, so the layouts come first.
  return { releases, answers: [releases.answer, ...others, images, packages] };
}

async function firstOf(answers: readonly Answer[], request: Request): Promise<Response> {
  const path = new URL(request.url).pathname.slice(1);
  for (const answer of answers) {
    const response = await answer(request, path);
    if (response !== undefined) return response;
  }
  return new Response(`Not found: "/${path}"\n`, { status: 404 });
}

/** The release files of all programs, with their checksums. */
interface Releases {
  readonly answer: Answer;
  /** The SHA-256 of each file: `path=SHA-256`, comma-separated. */
  readonly digests: string;
  /**
   * Serves wrong content for the file of this name from now on; serves all files correctly if `file` is undefined.
   * Throws if no release file has this name.
   */
  spoil(file: string | undefined): void;
}

type Kept = ReleaseFile & { readonly stored: StoredFile };

/** Prepares the release files in a directory, one after the other. */
async function prepareReleases(directory: string, programs: NodePrograms): Promise<Releases> {
  const kept: Kept[] = [];
  for (const file of releaseFiles(programs)) kept.push({ ...file, stored: await storeFile(directory, file.content) });
  let spoilt: string | undefined;
  return {
    digests: kept.map(({ path, stored: { sha256 } }) => `${path}=${sha256}`).join(","),
    async answer(request, path): Promise<Response | undefined> {
      const file = kept.find((one) => one.path === path);
      if (file !== undefined && basename(path) === spoilt) return new Response("other bytes\n");
      if (file !== undefined) return await sendFile(request, file.stored);
      const published = kept.find((one) => one.checksumPath === path);
      return published && new Response(checksumText(published));
    },
    spoil(file): void {
      const names = kept.map(({ path }) => basename(path));
      if (file === undefined || names.includes(file)) return void (spoilt = file);
      throw new Error(`Unknown file "${file}": accepted are ${names.join(", ")}`);
    },
  };
}

function checksumText({ path, isNamed, stored: { sha256 } }: Kept): string {
  return isNamed ? `${sha256}  ${basename(path)}\n` : sha256;
}

/** A port that can be closed and opened again. */
interface Listener {
  /** Address and port in the format of a URL. */
  readonly host: string;
  /** Closes all connections, and refuses new ones. */
  close(): Promise<void>;
  /** Listens on the same port again; does nothing if it already listens. */
  open(): Promise<void>;
}

/** Address and port to listen on. */
interface Place {
  readonly address: string;
  readonly port: number;
}

type Handle = (request: Request) => Promise<Response>;

/** Serves GET and HEAD; `onAnswered` is called with `GET /path status` for each request. */
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
  if (!["GET", "HEAD"].includes(request.method)) {
    return new Response("Method not allowed: the mirror is read-only\n", { status: 405 });
  }
  try {
    return await handle(request);
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    return new Response(`Failed to handle the request: ${said}\n`, { status: 500 });
  }
}
