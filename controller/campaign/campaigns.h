/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The campaigns of the controller (controller/campaign): the running ones, their rows in the
 * store, and what their results mean for hosts and switches.
 *
 * A campaign lives in memory and is stored at every step: an order before it is sent, an answer in
 * the same commit as its report. A campaign that was running when the controller stopped is resumed
 * at the next start, or abandoned with a reason (campaign_recall()). Hosts with orders stop on
 * their own at the deadline. Running campaigns have no host and no leaf switch in common, so they
 * do not disturb each other.
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
	CAMPAIGNS_MAX = 8, /* at a time */
	CAMPAIGN_OUTCOMES = 3,
};

/* Counted since the start, except `running`, the number now. */
struct campaigns_counts {
	uint64_t running, done, abandoned, blamed;
	uint64_t groups[CAMPAIGN_OUTCOMES]; /* by enum pairing_outcome */
};

/* A request for a campaign. All pointers are borrowed. */
struct campaigns_ask {
	const char *domain;  /* or NULL */
	const json_t *nodes; /* names, or NULL */
	struct campaign_measure measure;
	int plan; /* enum pairing_plan */
	const char *reason, *who;
	const char *tested; /* the host that the policy wants retested, or NULL */
	size_t rounds_max;  /* 0: as many as the hosts may need */
};

extern const struct controller_part campaigns_part;

/*
 * Begins a campaign, durable with the next commit. Returns its id, or -ENOENT if there is no such
 * host or domain, -EINVAL if the request cannot be a campaign, -EBUSY if there are too many
 * campaigns or another one uses one of the hosts or switches, -E2BIG if there are too many hosts.
 */
int64_t campaigns_begin(struct service *s, const struct campaigns_ask *ask, struct err *err);

/* Abandons the campaign, if it is still running, with the next commit. */
void campaigns_withdraw(struct service *s, int64_t id, const char *why);

/* Takes note of a report that was put into the store. */
void campaigns_report(struct service *s, const struct report *report);

/* Returns the order to send to the host now; new reference, or NULL. */
json_t *campaigns_order(struct service *s, const char *node);

/* Returns true if a running campaign tests this host for the policy. */
bool campaigns_tests(const struct service *s, const char *node);

struct campaigns_counts campaigns_counts(const struct service *s);
