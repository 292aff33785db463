/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces token_review_kube.c in builds without libcurl. */
#include <errno.h>

#include "controller/config/token_review_kube.h"
#include "lib/base/err.h"

int token_review_kube_open(const struct settings *settings UNUSED, struct sd_event *loop UNUSED,
			   struct token_review **ret UNUSED, struct err *err)
{
	return err_set(err, EINVAL,
		       "kubernetes: this build has no libcurl: build with libcurl, or omit "
		       "cluster, kubeconfig and kubernetes");
}
