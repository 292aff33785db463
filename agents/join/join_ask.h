/* SPDX-License-Identifier: Apache-2.0 */
/* What a host that joins asks the controller, each question to its answer or its deadline. */
#pragma once

#include "lib/base/duration.h"
#include "lib/base/macro.h"

struct err;

enum { JOIN_CA_MAX = 64 * 1024 }; /* bytes of a certificate in PEM */

#define JOIN_TIMEOUT_US (30 * USEC_PER_SEC)

/*
 * The certificate that GET /v1/ca gives, from whoever answers: nothing is sent but the question,
 * and what comes is trusted only for its sum. -EKEYREJECTED when that is not `sum` (64
 * hexadecimal digits). New memory.
 */
int join_ask_ca(const char *controller, const char *sum, char **ret_pem, struct err *err);

struct join_request {
	const char *controller;
	const char *ca_pem; /* the only authority to trust; NULL: plain HTTP */
	const char *node, *join_token, *sha256;
};

/*
 * POST /v1/join. 0 with the controller's sentence in new memory. -EACCES when the controller says
 * no, with its sentence; others when there is no answer: the same may be asked again.
 */
int join_ask(const struct join_request *request, char **ret_sentence, struct err *err);
