/** Error codes of JSON-RPC 2.0 and of ACP (schema `ErrorCode`). */
export const ErrorCode = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  requestCancelled: -32800,
  authRequired: -32000,
  resourceNotFound: -32002,
  unsupportedProtocolVersion: -32022,
} as const;

/** A JSON-RPC error object (schema `Error`). */
export interface RpcError {
  code: number;
  message: string;
  data?: unknown;
}

/** Builds an error object; `data` is left out when undefined. */
export function rpcError(code: number, message: string, data?: unknown): RpcError {
  return data === undefined ? { code, message } : { code, message, data };
}

/** A fault in what a peer asked for, raised by a translation and answered as a JSON-RPC error. */
export class RequestFault extends Error {
  readonly error: RpcError;
  constructor(error: RpcError) {
    super(error.message);
    this.name = "RequestFault";
    this.error = error;
  }
}

/** A {@link RequestFault} with code `-32602`. */
export function invalidParams(message: string, data?: unknown): RequestFault {
  return new RequestFault(rpcError(ErrorCode.invalidParams, message, data));
}
