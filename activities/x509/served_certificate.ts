/**
 * Reads when the certificate of a server expires, by a TLS handshake that verifies nothing, presents no client
 * certificate and sends no request. The server is not authenticated, so the result is only reported, and no decision
 * depends on it.
 */
import { X509Certificate } from "node:crypto";
import { connect, type TLSSocket } from "node:tls";

/** An address or a host name, and a port. */
export interface Server {
  readonly host: string;
  readonly port: number;
}

/** The period in which a certificate is valid, in epoch ms. */
export interface Validity {
  readonly from: number;
  readonly until: number;
}

/** The validity of a certificate, or the reason why it is unknown; the reason quotes no text from the server. */
export type Served = Validity | { readonly unknown: string };

/** Reads the certificate of a server; never throws. */
export type ReadServed = (server: Server) => Promise<Served>;

/** Milliseconds for the whole handshake, which takes less than a tenth of that across a continent. */
const handshakeMs = 3_000;

/** Reads a certificate, also an expired one; resolves to `unknown` if the handshake fails or takes `withinMs`. */
export function readServed({ host, port }: Server, withinMs = handshakeMs): Promise<Served> {
  const { promise, resolve } = Promise.withResolvers<Served>();
  const socket = connect({ host, port, rejectUnauthorized: false });
  const end = (served: Served): void => {
    clearTimeout(late);
    resolve(served);
    socket.destroy();
  };
  const late = setTimeout(() => end({ unknown: `no TLS handshake within ${withinMs / 1000} s` }), withinMs);
  socket.once("secureConnect", () => end(validityIn(socket)));
  // The listener stays until the socket is closed, because an error without a listener would end the process.
  socket.on("error", (error) => end({ unknown: `the TLS handshake failed (${codeOf(error)})` }));
  socket.once("close", () => end({ unknown: "the server closed the connection" }));
  return promise;
}

// The server decides what is in the certificate, so no text of it is quoted, and an unreadable one is `unknown`.
function validityIn(socket: TLSSocket): Served {
  const unreadable = { unknown: "the certificate cannot be read" };
  try {
    const { raw } = socket.getPeerCertificate() as { raw?: Uint8Array };
    return (raw && validityOf(new X509Certificate(raw))) ?? unreadable;
  } catch {
    return unreadable;
  }
}

/** Returns when a certificate is valid; undefined if that cannot be read, or its end is not after its begin. */
export function validityOf(
  { validFrom, validTo }: Pick<X509Certificate, "validFrom" | "validTo">,
): Validity | undefined {
  const [from, until] = [Date.parse(validFrom), Date.parse(validTo)];
  return until > from ? { from, until } : undefined;
}

function codeOf(error: Error): string {
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  return /^[A-Z0-9_]{1,60}$/.test(code) ? code : "no reason given";
}
