/* SPDX-License-Identifier: Apache-2.0 */
/* What kube_call.c, kube_config.c, kube_credentials.c and kube_error.c share. */
#pragma once

#include "controller/cluster/kube/kube.h"
#include "lib/base/err.h"
#include "lib/net/token_file.h"

/* --- kube_config.c --- */

/*
 * Of the pod whose environment has `host` and `port` (NULL: it is none) and whose service account's
 * files are in `dir`.
 */
int kube_config_of_pod(const char *host, const char *port, const char *dir, struct kube_config *ret,
		       struct err *err);

/* --- kube_credentials.c --- */

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

/* --- kube_error.c: pure --- */

/* What came back, as it came. */
struct kube_raw {
	const char *method, *path;
	int r;		 /* negative: no whole answer came, and `why` */
	const char *why; /* or NULL */
	unsigned status;
	const char *content_type, *body;
	size_t len;
	uint64_t retry_after_us; /* 0: the header is absent */
	const char *audit;
	bool streamed; /* what a 2xx brought is told already */
};

/* An answer and what it borrows from. */
struct kube_reading {
	struct kube_answer answer;
	json_t *body; /* owned */
	struct err words;
};

/* Never fails: what cannot be understood is an answer, too. `ret` must not move while it is used. */
void kube_answer_read(const struct kube_raw *raw, struct kube_reading *ret);
void kube_reading_release(struct kube_reading *reading);
