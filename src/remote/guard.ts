import type { IncomingHttpHeaders } from "node:http";
import { isIP } from "node:net";
import { bearerIn, type Token } from "./token.ts";

/** Who may speak to a web listener. */
export interface GuardPolicy {
  path: string;
  token: Token | undefined;
  /** Names it may be called by, beside IP addresses and `localhost`; in lower case, without port. */
  hosts: readonly string[];
  /** Origins of web pages that may use it. */
  origins: readonly string[];
}

/** An HTTP status and why. */
export interface Refusal {
  status: number;
  reason: string;
}

interface Asked {
  method?: string | undefined;
  url?: string | undefined;
  headers: IncomingHttpHeaders;
}

/**
 * Why a request is refused; undefined when it may pass. Before anything else it has to come by a name that is ours: a web
 * page can make its own name lead here (DNS rebinding), but never an IP address. A page's origin has to be allowed
 * expressly. Only then counts the token (`Authorization: Bearer`); a preflight, which cannot bear one, needs none.
 */
export function refusalOf({ method, url, headers }: Asked, policy: GuardPolicy): Refusal | undefined {
  const host = hostName(headers.host);
  if (host === undefined || !(host === "localhost" || isIP(host) !== 0 || policy.hosts.includes(host)))
    return { status: 403, reason: "this name is not one of ours (--allow-host)" };
  if (url?.split("?")[0] !== policy.path) return { status: 404, reason: `there is nothing here but ${policy.path}` };
  const { origin } = headers;
  if (origin !== undefined && !policy.origins.includes(origin.toLowerCase()))
    return { status: 403, reason: "pages of this origin are not let in (--allow-origin)" };
  if (method === "OPTIONS" && origin !== undefined) return undefined;
  if (policy.token !== undefined && !policy.token.matches(bearerIn(headers.authorization)))
    return { status: 401, reason: "a token is needed, or another one (Authorization: Bearer)" };
  return undefined;
}

/** The name in a `Host` header, in lower case, without port and brackets. */
export function hostName(header: string | undefined): string | undefined {
  const [, bracketed, plain] = /^(?:\[([0-9a-f:.]+)\]|([^:[\]@/?#\s]+))(?::\d{1,5})?$/i.exec(header ?? "") ?? [];
  return (bracketed ?? plain)?.toLowerCase();
}
