/* SPDX-License-Identifier: Apache-2.0 */
/* The service's part of acting: the cluster, the actor, and when they are called. */
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

/* A cluster outside of this program; controller/actions/remediation_kube.h has one. */
struct remediation_cluster {
	/* Can it be reached as the settings say, as far as that is known without asking it? */
	int (*check)(const struct settings *settings, struct err *err);
	int (*open)(struct service *s, struct cluster **ret_cluster, struct err *err);
	void (*tick)(struct service *s); /* once a second */
	/* Who else acts there, as far as is known; NULL: nobody, or we. Borrowed. */
	const char *(*other)(const struct service *s);
	/* Do we act there, for sure? */
	bool (*leads)(const struct service *s);
	/* After the cluster was closed, or could not be opened. */
	void (*close)(struct service *s);
};

/* The cluster that the settings name, and the actor on it. */
extern const struct controller_part remediation_part;

/* A report was put into the store; it counts as of `at_us`. */
void remediation_report(struct service *s, const struct report *report, uint64_t at_us, bool fresh);

/*
 * Do we stand by, since another controller acts? Then its reports and orders are its hosts', and what
 * we took would be lost to it. The name of the other, borrowed until the loop goes on; or NULL.
 */
const char *remediation_other(const struct service *s);

/* Do we act, as far as the cluster has said? False also while it has said nothing. */
bool remediation_leads(const struct service *s);

/* The policy with the effective mode. Borrowed until the next call. */
const struct policy *remediation_policy(struct service *s);
