/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces remediation_kube.c in builds without libcurl. */
#include <errno.h>

#include "controller/actions/remediation_kube.h"
#include "lib/base/err.h"

static int check(const struct settings *settings UNUSED, struct err *err)
{
	return err_set(err, EINVAL,
		       "cluster: kubernetes: this build has no libcurl: build with libcurl, or use "
		       "embedded");
}

static int open_cluster(struct service *s UNUSED, struct cluster **ret_cluster UNUSED,
			struct err *err)
{
	return check(NULL, err);
}

static void nothing(struct service *s UNUSED)
{
}

static const char *nobody(const struct service *s UNUSED)
{
	return NULL;
}

static bool no(const struct service *s UNUSED)
{
	return false;
}

const struct remediation_cluster remediation_kube = { .check = check,
						      .open = open_cluster,
						      .tick = nothing,
						      .other = nobody,
						      .leads = no,
						      .close = nothing };
