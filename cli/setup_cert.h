/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Certificates for a controller (RFC 5280): an authority of its own, and one for the server that
 * it signs. Keys are ECDSA on P-256, in PKCS #8. setup_cert_none.c, in a build without GnuTLS,
 * refuses.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

struct err;

enum {
	SETUP_CA_DAYS = 3650,
	SETUP_CERT_DAYS = 825, /* what clients accept at most of a server */
	SETUP_NAMES_MAX = 32,  /* in one certificate */
};

/* PEM texts, owned. */
struct setup_cert_pair {
	char *cert, *key;
};
void setup_cert_release(struct setup_cert_pair *p);

/* An authority whose name is "assay authority of NAME". */
int setup_cert_authority(const char *name, struct setup_cert_pair *ret, struct err *err);

/*
 * One for a server with these names, each a host's or an IP address, the first of which is its
 * common name, signed by the authority. -EINVAL: `ca` is none, or a name is none.
 */
int setup_cert_server(const struct setup_cert_pair *ca, const char *const *names, size_t n,
		      struct setup_cert_pair *ret, struct err *err);
