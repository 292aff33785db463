/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Untrusted tokens, and an API server's responses about them: the bytes are claims, a token, and
 * the responses to a TokenReview and for a pod. A rejection has a message, and no token is accepted
 * without "authenticated": true and our audience.
 */
#include <errno.h>
#include <stdlib.h>

#include "controller/auth/kube_token.h"
#include "lib/base/err.h"
#include "lib/json/json.h"
#include "lib/report/node_name.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/jwt.h"

static void read_claims(const char *token)
{
	struct kube_claims claims = { 0 };
	struct err err = ERR_INIT;
	int r = kube_token_claims(token, &claims, &err);

	if (r < 0)
		fuzz_refused(r, &err);
	else
		FUZZ_CHECK(kube_token_looks_like_one(token));
}

static void read_answer(const json_t *answer)
{
	const json_t *status = json_object_get(answer, "status");
	struct kube_review review = { 0 };
	struct err err = ERR_INIT;
	const char *node = NULL;
	int r = kube_token_reviewed(answer, &review, &err);

	FUZZ_CHECK(r == 0 || r == -EACCES || r == -EBADMSG);
	if (r < 0)
		fuzz_refused(r, &err);
	else
		FUZZ_CHECK(json_is_true(json_object_get(status, "authenticated")) && *review.user &&
			   review.pod && review.pod_uid && review.node);
	err = (struct err)ERR_INIT;
	r = kube_token_node(answer, "u-1", review.node ? review.node : "", &node, &err);
	if (r < 0)
		fuzz_refused(r, &err);
	else
		FUZZ_CHECK(node_name_ok(node));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size), *token = jwt_of(text);
	json_t *answer = NULL;

	read_claims(text);
	read_claims(token);
	if (json_parse(text, size, "fuzz", &answer, NULL) == 0)
		read_answer(answer);
	json_decref(answer);
	free(token);
	free(text);
	return 0;
}
