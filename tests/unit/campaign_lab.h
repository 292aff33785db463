/* SPDX-License-Identifier: Apache-2.0 */
/* Simulated hosts that carry out the orders of a campaign, or fail to. */
#pragma once

#include "controller/campaign/campaign.h"
#include "tests/unit/random.h"

enum { LAB_HOSTS_MAX = CAMPAIGN_HOSTS_MAX, LAB_NAME_SIZE = 32 };

/* How a host answers. */
enum lab_way {
	LAB_MEASURES,
	LAB_SILENT, /* accepts orders, reports nothing */
	LAB_AWAY,   /* accepts no orders */
	LAB_BUSY,   /* in use by another job */
	LAB_BREAKS, /* every group with it aborts */
	LAB_MODEST, /* reports half of the rate it achieves */
};

struct lab {
	struct campaign *campaign;
	const char *check; /* the check that hosts report; NULL: the one asked for */
	size_t n, n_rails;
	enum lab_way ways[LAB_HOSTS_MAX];
	double part[LAB_HOSTS_MAX];		      /* fraction of the line rate; 1: good */
	double nic[LAB_HOSTS_MAX][PAIRING_RAILS_MAX]; /* the same, per NIC */
	double below[LAB_HOSTS_MAX];		      /* the same, of the host's switch */
	char name[LAB_HOSTS_MAX][LAB_NAME_SIZE], leaf[LAB_HOSTS_MAX][LAB_NAME_SIZE];
	struct campaign_guest guests[LAB_HOSTS_MAX];
	struct campaign_moment now;
	struct campaign_around around;
	struct random chance;
	size_t most_at_once; /* maximum of hosts with an order at the same time */
	unsigned tokens;     /* issued so far */
	bool no_tokens;	     /* none can be issued yet */
};

/* Returns `n` good hosts, `per_leaf` per switch. Free with lab_free(). */
struct lab *lab_new(size_t n, size_t n_rails, size_t per_leaf);
void lab_free(struct lab *lab);
DEFINE_CLEANUP(struct lab *, lab_free, lab_freep);

/* Begins a campaign: as `ask` says, or if NULL all-reduces in two passes. */
int lab_begin(struct lab *lab, const struct campaign_ask *ask, struct err *err);

/* One turn: sends orders and answers, or else advances the time. Returns false when it is over. */
bool lab_turn(struct lab *lab);

/* Takes turns until it is over. */
void lab_play(struct lab *lab);

/* The host answers this order according to its `ways`. */
void lab_answer(struct lab *lab, size_t host, const json_t *order);

/* Returns the final verdict on a host: 1 bad, -1 good, 0 none. */
int lab_says(const struct lab *lab, size_t host);
