/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our certificate, and the name in a client's once its chain is verified. All
 * of it can be renewed while connections are open: the library asks for the
 * certificate at each handshake, but without a context, so there is one set
 * in the program.
 */
#pragma once

#include "controller/http/api.h"

struct MHD_Connection;
struct err;

/*
 * Of api_tls.c or api_tls_none.c: the common name of the peer's certificate in new
 * memory; NULL when it has none or nobody we trust has signed it.
 */
char *api_tls_peer(struct MHD_Connection *connection);
bool api_tls_built_in(void);

/*
 * Take these PEM texts (`ca` may be NULL) for all handshakes from now on. -EINVAL
 * with a sentence when they are bad or do not belong together: the old ones stay. One that is
 * expired, not valid yet, or soon no more is taken, and told in the log.
 */
int api_tls_set_keys(const char *cert, const char *key, const char *ca, struct err *err);

/* When the certificates in use end: api_counts(). */
struct tls_ends api_tls_ends(void);

/* As api_check_tls(). */
int api_tls_check_keys(const char *cert, const char *key, const char *ca, struct err *ret_soon,
		       struct err *err);

/* What the library calls at each handshake: of MHD_OPTION_HTTPS_CERT_CALLBACK. */
void *api_tls_callback(void);
