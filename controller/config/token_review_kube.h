/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Token review by the API server, as in the settings. A build without libcurl has
 * token_review_kube_none.c, which refuses.
 */
#pragma once

#include "controller/auth/token_review.h"

/* `settings` must outlive it. -EINVAL and others with a sentence. */
int token_review_kube_open(const struct settings *settings, struct sd_event *loop,
			   struct token_review **ret, struct err *err);
