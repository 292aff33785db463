/* SPDX-License-Identifier: Apache-2.0 */
/* The sides of a group of a campaign: what their reports say, and when the group is over. */
#pragma once

#include "controller/campaign/campaign.h"

/* What a report says of the check, as one side of its group. */
void campaign_side_read(struct campaign_side *side, const char *check, const struct report *report);

/* All sides have answered, or nobody is waited for any more. */
void campaign_settle(struct campaign *c, struct campaign_group *g);

/* It is asked no more; the first reason counts. */
void campaign_drop(struct campaign_host *host, const char *why);

/* The number of the member among the sides, or SIZE_MAX. */
size_t campaign_seat(const struct campaign_group *g, size_t host);
