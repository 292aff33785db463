/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/config/vouch_kube.h"

#include <stdlib.h>

#include "controller/auth/kube_identity.h"
#include "controller/cluster/kube/kube.h"
#include "controller/config/settings.h"
#include "lib/base/clock.h"
#include "lib/base/xalloc.h"

/* A connection of its own: whoever floods it is in nobody's way who acts. */
struct vouching {
	struct trust trust;
	struct kube *kube;
};

static void vouching_free(void *context)
{
	struct vouching *v = context;

	kube_close(v->kube);
	trust_release(&v->trust);
	free(v);
}

int vouch_kube_open(const struct settings *settings, struct sd_event *loop, struct vouch **ret,
		    struct err *err)
{
	CLEANUP(kube_config_release) struct kube_config config = { 0 };
	struct kube *kube = NULL;
	struct vouching *v;
	int r = kube_config_load(settings->kubeconfig, &config, err);

	if (r == 0)
		r = kube_open(loop, &config, &kube, err);
	if (r < 0)
		return r;
	v = xcalloc(1, sizeof(*v));
	v->kube = kube;
	v->trust = trust_copy(&settings->kube.trust);
	trust_usual(&v->trust,
		    settings->kube.namespace ? settings->kube.namespace : kube_namespace(kube));
	*ret = kube_identity_new(&(struct kube_identity_options){ .trust = &v->trust,
								  .send = kube_send,
								  .cancel = kube_cancel,
								  .kube = kube,
								  .mono_us = clock_mono_us,
								  .real_us = clock_real_us,
								  .closed = vouching_free,
								  .context = v });
	return 0;
}
