/* SPDX-License-Identifier: Apache-2.0 */
/* In place of vouch_kube.c where there is no libcurl. */
#include <errno.h>

#include "controller/config/vouch_kube.h"
#include "lib/base/err.h"

int vouch_kube_open(const struct settings *settings UNUSED, struct sd_event *loop UNUSED,
		    struct vouch **ret UNUSED, struct err *err)
{
	return err_set(err, EINVAL,
		       "kubernetes: this build has no libcurl: build it with libcurl, "
		       "or say neither cluster, kubeconfig nor kubernetes");
}
