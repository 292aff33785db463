/* SPDX-License-Identifier: Apache-2.0 */
/* The requests of a host that joins. Each blocks until the answer or its deadline. */
#pragma once

#include "lib/base/duration.h"
#include "lib/base/macro.h"

struct err;

enum { JOIN_CA_MAX = 64 * 1024 }; /* bytes of the certificate in PEM */

#define JOIN_TIMEOUT_US (30 * USEC_PER_SEC)

/*
 * Fetch the certificate from GET /v1/ca. The server is not authenticated: nothing secret is sent,
 * and the answer is trusted only if its checksum is `sum` (64 hexadecimal digits); -EKEYREJECTED
 * if not. The caller frees the result.
 */
int join_ask_ca(const char *controller, const char *sum, char **ret_pem, struct err *err);

struct join_request {
	const char *controller;
	const char *ca_pem; /* the only CA to trust; NULL: plain HTTP */
	const char *node, *join_token, *sha256;
};

/*
 * POST /v1/join. Returns 0 with the controller's sentence, which the caller frees; -EACCES with
 * its sentence if the controller refuses; another error if there is no answer, after which the
 * same request may be repeated.
 */
int join_ask(const struct join_request *request, char **ret_sentence, struct err *err);
