/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Certificates for a controller (RFC 5280): a CA, and a server certificate signed by it. Keys are
 * ECDSA on P-256, in PKCS #8. In builds without GnuTLS setup_cert_none.c refuses instead.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

struct err;

enum {
	SETUP_CA_DAYS = 3650,
	SETUP_CERT_DAYS = 825, /* the most that clients accept for a server */
	SETUP_NAMES_MAX = 32,  /* per certificate */
};

/* In PEM, owned. */
struct setup_cert_pair {
	char *cert, *key;
};
void setup_cert_release(struct setup_cert_pair *p);

/* Create a CA named "assay authority of NAME". */
int setup_cert_authority(const char *name, struct setup_cert_pair *ret, struct err *err);

/*
 * Create a server certificate signed by `ca` for these names, each a host name or an IP address;
 * the first is the common name. -EINVAL: invalid `ca` or name.
 */
int setup_cert_server(const struct setup_cert_pair *ca, const char *const *names, size_t n,
		      struct setup_cert_pair *ret, struct err *err);
