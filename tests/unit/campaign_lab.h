/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts that obey the orders of a campaign: what each reports, and who does not. */
#pragma once

#include "controller/campaign/campaign.h"
#include "tests/unit/random.h"

enum { LAB_HOSTS_MAX = CAMPAIGN_HOSTS_MAX, LAB_NAME_SIZE = 32 };

/* How a host answers. */
enum lab_way {
	LAB_MEASURES,
	LAB_SILENT, /* takes its orders, and reports nothing */
	LAB_AWAY,   /* takes none */
	LAB_BUSY,   /* somebody else uses it */
	LAB_BREAKS, /* with it every group breaks off */
	LAB_MODEST, /* says that it sees half of what it does */
};

struct lab {
	struct campaign *campaign;
	const char *check; /* that hosts report; NULL: the one that is asked for */
	size_t n, n_rails;
	enum lab_way ways[LAB_HOSTS_MAX];
	double part[LAB_HOSTS_MAX];		      /* of the line rate: 1 is good */
	double nic[LAB_HOSTS_MAX][PAIRING_RAILS_MAX]; /* likewise */
	double below[LAB_HOSTS_MAX];		      /* of the switch of each host */
	char name[LAB_HOSTS_MAX][LAB_NAME_SIZE], leaf[LAB_HOSTS_MAX][LAB_NAME_SIZE];
	struct campaign_guest guests[LAB_HOSTS_MAX];
	struct campaign_moment now;
	struct campaign_around around;
	struct random chance;
	size_t most_at_once; /* hosts that had an order at a time */
	unsigned tokens;     /* given so far */
	bool no_tokens;	     /* there can be none yet */
};

/* `n` good hosts below switches of `per_leaf`. New memory. */
struct lab *lab_new(size_t n, size_t n_rails, size_t per_leaf);
void lab_free(struct lab *lab);
DEFINE_CLEANUP(struct lab *, lab_free, lab_freep);

/* Begin: all-reduces in two passes, unless `ask` (may be NULL) says so. */
int lab_begin(struct lab *lab, const struct campaign_ask *ask, struct err *err);

/* One turn: orders are told, hosts answer, else time passes. False: it is over. */
bool lab_turn(struct lab *lab);

/* Until it is over. */
void lab_play(struct lab *lab);

/* The host answers this order as it does. */
void lab_answer(struct lab *lab, size_t host, const json_t *order);

/* What is said of a host at the end: 1 bad, -1 good, 0 nothing. */
int lab_says(const struct lab *lab, size_t host);
