/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks of request headers, whoever sent them.
 *
 * Framing: the library takes the first length there is, and Transfer-Encoding before any. A proxy
 * that shares a connection among callers may parse the same bytes differently, and take for one
 * caller's body what we take for the next one's request. So ambiguous requests are refused and the
 * connection is closed (RFC 9112 6.1 and 6.3).
 *
 * Sites: if everybody who reaches our loopback address may do everything, so may every page shown
 * by a browser there. The browser names the page's site in Origin and Sec-Fetch-Site, and Host is
 * the name by which the page reached us: possibly a domain of its own that resolves to this
 * address.
 */
#pragma once

struct call;

/* Refuse the call with 400 or 403 if its header is not allowed; `version` is that of HTTP. */
void api_header_check(struct call *call, const char *version);
