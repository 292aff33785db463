/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The API server as who vouches for the bearers of tokens, as the settings say. A build
 * without libcurl has vouch_kube_none.c, which refuses.
 */
#pragma once

#include "controller/auth/vouch.h"

/* `settings` outlive it. -EINVAL and others with a sentence. */
int vouch_kube_open(const struct settings *settings, struct sd_event *loop, struct vouch **ret,
		    struct err *err);
