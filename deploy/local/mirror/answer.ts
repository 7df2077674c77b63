import type { StoredFile } from "./stored_file.ts";

/**
 * One part of the mirror, such as images or packages: returns the response to a request, or undefined if this part does
 * not serve the path.
 */
export type Answer = (request: Request, path: string) => Promise<Response | undefined>;

/** Returns a response that streams a stored file; for a HEAD request, a response with only the headers. */
export async function sendFile(
  request: Request,
  { path, size }: Omit<StoredFile, "sha256">,
  headers: Record<string, string> = {},
): Promise<Response> {
  const file = request.method === "HEAD" ? null : await Deno.open(path);
  const described = { "content-type": "application/octet-stream", "content-length": `${size}`, ...headers };
  return new Response(file?.readable ?? null, { headers: described });
}
