/* SPDX-License-Identifier: Apache-2.0 */
/* Who we are to the server: the token and the CA, which may change in their files. */
#pragma once

#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/net/token_file.h"

struct err;
struct kube_config;

/*
 * What may change while we run: the token and the CA in files. They are looked at before each
 * request and read when another file is there, or after KUBE_CREDENTIALS_US; a file that cannot be
 * read leaves what was there.
 */
#define KUBE_CREDENTIALS_US (60 * USEC_PER_SEC)

enum { KUBE_CA_MAX = 1 << 20 }; /* bytes of a CA file */

struct kube_credentials {
	struct token_file token;  /* its `path` is NULL when there is none */
	char *header;		  /* of a token that is no file, or NULL */
	char *ca_file;		  /* or NULL */
	char *ca_pem;		  /* what is trusted, or NULL: the system's */
	uint64_t token_us, ca_us; /* when they were read */
	bool complained;	  /* that the token cannot be read */
};

/* Reads them: what is not there now is an error that names the file. */
int kube_credentials_init(struct kube_credentials *c, const struct kube_config *config,
			  uint64_t now_us, struct err *err);
void kube_credentials_release(struct kube_credentials *c);

/* "Authorization: Bearer ..." as of now, or NULL. Borrowed until the next call. */
const char *kube_credentials_header(struct kube_credentials *c, uint64_t now_us);

/* The server does not know us: read the token again. True when there is one to ask again with. */
bool kube_credentials_refused(struct kube_credentials *c, uint64_t now_us);

/* Bring `ca_pem` up to date, `at_once` however young it is. True when it is another one. */
bool kube_credentials_ca(struct kube_credentials *c, bool at_once, uint64_t now_us);
