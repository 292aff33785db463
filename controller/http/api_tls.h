/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our certificate, and the name in a client's after its chain is verified. All of it can be renewed
 * while connections are open: the library asks for the certificate at each handshake, but without a
 * context, so there is one global set.
 */
#pragma once

#include "controller/http/api.h"

struct MHD_Connection;
struct err;

/*
 * api_tls.c or api_tls_none.c: the common name in the peer's certificate, new memory; NULL if it
 * has none or is not signed by a trusted CA.
 */
char *api_tls_peer(struct MHD_Connection *connection);
bool api_tls_built_in(void);

/*
 * Use these PEM texts (`ca` may be NULL) for all further handshakes. -EINVAL with a sentence if
 * they are bad or do not match: the old ones stay. A certificate that has expired, is not valid yet
 * or expires soon is used, with a warning in the log.
 */
int api_tls_set_keys(const char *cert, const char *key, const char *ca, struct err *err);

/* When the certificates in use expire: api_counts(). */
struct tls_ends api_tls_ends(void);

/* As api_check_tls(). */
int api_tls_check_keys(const char *cert, const char *key, const char *ca, struct err *ret_soon,
		       struct err *err);

/* Called by the library at each handshake: for MHD_OPTION_HTTPS_CERT_CALLBACK. */
void *api_tls_callback(void);
