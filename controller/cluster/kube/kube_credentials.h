/* SPDX-License-Identifier: Apache-2.0 */
/* Our credentials: the token and the CA, which may change in their files. */
#pragma once

#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/net/token_file.h"

struct err;
struct kube_config;

/*
 * The files are checked before each request, and read if replaced or after KUBE_CREDENTIALS_US. If
 * a file cannot be read the previous content stays.
 */
#define KUBE_CREDENTIALS_US (60 * USEC_PER_SEC)

enum { KUBE_CA_MAX = 1 << 20 }; /* bytes of a CA file */

struct kube_credentials {
	struct token_file token;  /* `path` is NULL if there is none */
	char *header;		  /* for a token not in a file, or NULL */
	char *ca_file;		  /* or NULL */
	char *ca_pem;		  /* trusted CAs, or NULL: the system's */
	uint64_t token_us, ca_us; /* when last read */
	bool complained;	  /* logged that the token cannot be read */
};

/* Read the files. A missing one is an error that names it. */
int kube_credentials_init(struct kube_credentials *c, const struct kube_config *config,
			  uint64_t now_us, struct err *err);
void kube_credentials_release(struct kube_credentials *c);

/* The current "Authorization: Bearer ..." header, or NULL. Borrowed until the next call. */
const char *kube_credentials_header(struct kube_credentials *c, uint64_t now_us);

/* The server refused us: read the token again. Returns true if there is one to retry with. */
bool kube_credentials_refused(struct kube_credentials *c, uint64_t now_us);

/* Update `ca_pem`; `at_once`: even if it was read recently. Returns true if it has changed. */
bool kube_credentials_ca(struct kube_credentials *c, bool at_once, uint64_t now_us);
