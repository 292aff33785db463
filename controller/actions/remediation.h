/* SPDX-License-Identifier: Apache-2.0 */
/* The service's remediation part: the cluster, the actor, and when they are called. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct cluster;
struct controller_part;
struct err;
struct policy;
struct report;
struct service;
struct settings;

/* A cluster outside this program, such as controller/actions/remediation_kube.h. */
struct remediation_cluster {
	/*
	 * Check that it can be reached with the settings, as far as possible without contacting it.
	 */
	int (*check)(const struct settings *settings, struct err *err);
	int (*open)(struct service *s, struct cluster **ret_cluster, struct err *err);
	void (*tick)(struct service *s); /* once a second */
	/* The other controller that acts there, if known; NULL: none, or us. Borrowed. */
	const char *(*other)(const struct service *s);
	/* Are we certain to be the leader there? */
	bool (*leads)(const struct service *s);
	/* Called after the cluster was closed or could not be opened. */
	void (*close)(struct service *s);
};

/* The cluster named in the settings, with the actor on it. */
extern const struct controller_part remediation_part;

/* A report was stored; it counts as of `at_us`. */
void remediation_report(struct service *s, const struct report *report, uint64_t at_us, bool fresh);

/*
 * Are we a standby because another controller is the leader? Then hosts must send it their reports
 * and ask it for orders; what we accepted would be lost to it. Returns the name of the other,
 * borrowed until control returns to the loop, or NULL.
 */
const char *remediation_other(const struct service *s);

/* Are we the leader as far as the cluster has said? False also as long as it has said nothing. */
bool remediation_leads(const struct service *s);

/* The policy with the effective mode. Borrowed until the next call. */
const struct policy *remediation_policy(struct service *s);
