/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of campaigning.h share. */
#pragma once

#include "controller/campaign/campaign.h"
#include "controller/campaign/campaigning.h"

/* A campaign under way, or one whose end is not durable yet. */
struct slot {
	struct campaign *campaign;
	bool dirty;	/* its row is behind */
	bool heard;	/* only by answers, which go with the commit of their reports */
	bool durable;	/* its row is what it is, and committed: no order is told before */
	bool told;	/* that it cannot be written down, to who reads the log */
	bool begun;	/* it was durable once: who asked was told so */
	char *tested;	/* the host of which the policy wants to know, or NULL */
	bool concluded; /* it has ended, and what it says of hosts is in the store */
};

struct campaigning {
	struct slot slots[CAMPAIGNS_MAX];
	size_t n;
	int64_t last_id;
	struct campaigning_counts counts;
	bool stepping;
	uint64_t look_us; /* monotonic: what the policy wants is looked at again then */
};

struct campaign_moment campaigning_now(void);

/* Its row, in the store's open transaction (campaigning_store.c). */
int campaigning_put(struct service *s, const struct slot *slot, struct err *err);

/* Those that were under way when a controller ended go on (campaigning_store.c). */
int campaigning_open(struct service *s, struct err *err);
void campaigning_close(struct service *s);

/* Write down the answers that came with the reports of this commit (campaigning_store.c). */
void campaigning_keep(struct service *s);
