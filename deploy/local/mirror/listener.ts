/** A port that can be closed and opened again. */
export interface Listener {
  /** Address and port, as they stand in a URL. */
  readonly host: string;
  /** Ends all connections; from then on they are refused. */
  close(): Promise<void>;
  /** Listens again at the same port; does nothing where it does. */
  open(): Promise<void>;
}

/** Where to listen. */
export interface Place {
  readonly address: string;
  readonly port: number;
}

type Handle = (request: Request) => Promise<Response>;

/** Answers GET and HEAD; `onAnswered` hears `GET /path status` of each request. */
export async function listen(place: Place, handle: Handle, onAnswered: (line: string) => void): Promise<Listener> {
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
