/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of campaign.h share. */
#pragma once

#include "controller/campaign/campaign.h"

/* The id of the order of a group. */
void campaign_order_id(const struct campaign *c, const struct campaign_group *g,
		       char ret[static CAMPAIGN_ID_SIZE]);

/* The number of the member among the sides, or SIZE_MAX. */
size_t campaign_seat(const struct campaign_group *g, size_t host);

/* So long after its order a group is over, whoever has not answered. */
uint64_t campaign_patience_us(const struct campaign *c);

/* What a report says of the check, as one side of its group (campaign_side.c). */
void campaign_side_read(struct campaign_side *side, const char *check, const struct report *report);

/* All sides have answered, or nobody is waited for any more. */
void campaign_settle(struct campaign *c, struct campaign_group *g);

/* It is asked no more; the first reason counts. */
void campaign_drop(struct campaign_host *host, const char *why);

/* The results so far as the pairing wants them. Borrows from the campaign. */
struct campaign_view {
	struct pairing_problem problem;
	struct pairing_node *nodes;
	struct pairing_result *results;
};
void campaign_view_init(struct campaign_view *v, const struct campaign *c);
void campaign_view_release(struct campaign_view *v);

/* What came of it in one sentence, new memory (campaign_says.c). */
char *campaign_sentence(const struct campaign *c);
