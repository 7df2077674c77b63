/** A gRPC error as the native connection passes it on: all of it in the message. */
export function grpcStatus(code: number, message: string): Error {
  return Object.assign(new Error(message), { code, details: "", metadata: { get: () => [] } });
}
