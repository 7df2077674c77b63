/** Returns a gRPC error as the SDK's native connection throws it, with the whole text in the message. */
export function grpcStatus(code: number, message: string): Error {
  return Object.assign(new Error(message), { code, details: "", metadata: { get: () => [] } });
}
