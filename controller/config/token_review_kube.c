/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/config/token_review_kube.h"

#include <stdlib.h>

#include "controller/auth/kube_identity.h"
#include "controller/cluster/kube/kube.h"
#include "controller/cluster/kube/kube_config.h"
#include "controller/config/settings.h"
#include "lib/base/clock.h"
#include "lib/base/xalloc.h"

/* A connection of its own, so that floods do not delay remediation. */
struct review {
	struct authz authz;
	struct kube *kube;
};

static void review_free(void *context)
{
	struct review *v = context;

	kube_close(v->kube);
	authz_release(&v->authz);
	free(v);
}

int token_review_kube_open(const struct settings *settings, struct sd_event *loop,
			   struct token_review **ret, struct err *err)
{
	CLEANUP(kube_config_release) struct kube_config config = { 0 };
	struct kube *kube = NULL;
	struct review *v;
	int r = kube_config_load(settings->kubeconfig, &config, err);

	if (r == 0)
		r = kube_open(loop, &config, &kube, err);
	if (r < 0)
		return r;
	v = xcalloc(1, sizeof(*v));
	v->kube = kube;
	v->authz = authz_copy(&settings->kube.authz);
	authz_usual(&v->authz,
		    settings->kube.namespace ? settings->kube.namespace : kube_namespace(kube));
	*ret = kube_identity_new(&(struct kube_identity_options){ .authz = &v->authz,
								  .send = kube_send,
								  .cancel = kube_cancel,
								  .kube = kube,
								  .mono_us = clock_mono_us,
								  .real_us = clock_real_us,
								  .closed = review_free,
								  .context = v });
	return 0;
}
