import { isIP } from "node:net";
import { resolve } from "node:path";
import { UsageError } from "../config/usage-error.ts";

/** Where clients are listened for, or an agent is reached. `web` is HTTP and WebSocket on one path. */
export type Address =
  | { scheme: "unix"; path: string }
  | { scheme: "tcp"; host: string; port: number }
  | { scheme: "web"; secure: boolean; host: string; port: number; path: string };

const FORMS = "unix:/path, tcp:HOST:PORT, ws://HOST:PORT/PATH, wss://, http:// or https://";

/** The path of a URL that names none. */
const DEFAULT_PATH = "/acp";

/**
 * Reads an address as a person writes it: `unix:/path`, `tcp:HOST:PORT`, or a `ws:`, `wss:`, `http:` or `https:` URL. An
 * IPv6 host stands in brackets.
 * @throws UsageError that says what is expected
 */
export function parseAddress(written: string): Address {
  const [, scheme = "", rest = ""] = /^([a-z]+):(.*)$/is.exec(written) ?? [];
  switch (scheme.toLowerCase()) {
    case "unix":
      return { scheme: "unix", path: unixPath(rest, written) };
    case "tcp":
      return { scheme: "tcp", ...hostAndPort(rest, written) };
    case "ws":
    case "http":
    case "wss":
    case "https":
      return webAddress(written);
    default:
      throw unusable(written, `expected ${FORMS}`);
  }
}

/** The address as it is written in messages. */
export function addressText(address: Address): string {
  if (address.scheme === "unix") return `unix:${address.path}`;
  const host = isIP(address.host) === 6 ? `[${address.host}]` : address.host;
  if (address.scheme === "tcp") return `tcp:${host}:${address.port}`;
  return `${address.secure ? "wss" : "ws"}://${host}:${address.port}${address.path}`;
}

/** True when nobody on another machine can reach it. */
export function isLocal(address: Address): boolean {
  return address.scheme === "unix" || isLoopback(address.host);
}

/** True for the names and addresses of this machine's loopback interface. */
export function isLoopback(host: string): boolean {
  return host.toLowerCase() === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}

function unixPath(rest: string, written: string): string {
  const path = rest.replace(/^\/\/(?=\/)/, "");
  if (path === "") throw unusable(written, "expected unix:/path");
  return resolve(path);
}

function hostAndPort(rest: string, written: string): { host: string; port: number } {
  const [, bracketed, plain, digits] = /^(?:\/\/)?(?:\[([^\]]+)\]|([^:/[\]]+)):(\d{1,5})\/?$/.exec(rest) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  if (host === undefined || port > 65535 || (bracketed !== undefined && isIP(bracketed) !== 6))
    throw unusable(written, "expected tcp:HOST:PORT, an IPv6 host in brackets");
  return { host, port };
}

function webAddress(written: string): Address {
  let url: URL;
  try {
    url = new URL(written);
  } catch {
    throw unusable(written, "expected ws://HOST:PORT/PATH");
  }
  const { protocol, hostname, port, pathname, username, password, search, hash } = url;
  if (username !== "" || password !== "")
    throw unusable(`${protocol}//…@${url.host}`, "a secret does not belong there: use --token-file");
  if (search !== "" || hash !== "") throw unusable(written, "expected nothing behind the path");
  const secure = protocol === "wss:" || protocol === "https:";
  return {
    scheme: "web",
    secure,
    host: hostname.replace(/^\[|\]$/g, ""),
    port: port === "" ? (secure ? 443 : 80) : Number(port),
    path: pathname === "/" ? DEFAULT_PATH : pathname,
  };
}

function unusable(written: string, expectation: string): UsageError {
  return new UsageError(`${JSON.stringify(written)} cannot be used: ${expectation}`);
}
