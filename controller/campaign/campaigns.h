/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service's part of campaigns (controller/campaign): those under way, their rows in the
 * store, and what their end says of hosts and switches.
 *
 * A campaign lives in memory and is written down at every step, an order before it is told and an
 * answer with its report; one that was under way when the controller ended goes on at the
 * next start, or is abandoned, and says why (campaign.h: campaign_recall()). Hosts that had orders
 * end by themselves at their deadline. Campaigns under way share no host and no leaf switch,
 * so that they do not disturb each other.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "controller/campaign/campaign_measure.h"
#include "lib/base/macro.h"

struct controller_part;
struct err;
struct report;
struct service;

enum {
	CAMPAIGNS_MAX = 8, /* under way */
	CAMPAIGN_OUTCOMES = 3,
};

/* Since the start; `running` is now. */
struct campaigns_counts {
	uint64_t running, done, abandoned, blamed;
	uint64_t groups[CAMPAIGN_OUTCOMES]; /* by enum pairing_outcome */
};

/* Who asks for what. All borrowed. */
struct campaigns_ask {
	const char *domain;  /* or NULL */
	const json_t *nodes; /* names, or NULL */
	struct campaign_measure measure;
	int plan; /* enum pairing_plan */
	const char *reason, *who;
	const char *tested; /* a host of which the policy wants to know; NULL: none */
	size_t rounds_max;  /* 0: as many as the hosts may need */
};

extern const struct controller_part campaigns_part;

/*
 * Begin one; its number. -ENOENT: no such host or domain; -EINVAL: what was asked cannot be a
 * campaign; -EBUSY: too many, or one of its hosts or switches is in another; -E2BIG: too many
 * hosts. It is durable with the next commit.
 */
int64_t campaigns_begin(struct service *s, const struct campaigns_ask *ask, struct err *err);

/* Who asked for it wants it no more: abandoned, if it goes on, with the next commit. */
void campaigns_withdraw(struct service *s, int64_t id, const char *why);

/* A report was put into the store. */
void campaigns_report(struct service *s, const struct report *report);

/* The order that the host has to be told; new reference, or NULL. */
json_t *campaigns_order(struct service *s, const char *node);

/* Is one under way that tests this host for the policy? */
bool campaigns_tests(const struct service *s, const char *node);

struct campaigns_counts campaigns_counts(const struct service *s);
