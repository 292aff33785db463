/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the header of a request may not be, whoever sent it.
 *
 * Framing: the library takes the first length there is, and Transfer-Encoding before any. A proxy
 * that shares a connection among callers may read the same bytes the other way, and take for one
 * caller's body what we take for the next one's request. So what can be read two ways is refused,
 * and the connection ends (RFC 9112 6.1 and 6.3).
 *
 * Sites: where everybody who reaches our loopback address may do all, so may each page that a
 * browser there shows. A browser says whose page it is in Origin and Sec-Fetch-Site, and Host is
 * what the page calls us: a name of its own that it has made to mean this address.
 */
#pragma once

struct call;

/* Refuse in `call`, with 400 or 403, what its header may not be; `version` is that of HTTP. */
void api_header_check(struct call *call, const char *version);
