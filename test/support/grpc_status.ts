/** An answer of a gRPC server that is no success, as the native connection hands it on: all of it in the message. */
export function grpcStatus(code: number, message: string): Error {
  return Object.assign(new Error(message), { code, details: "", metadata: { get: () => [] } });
}
