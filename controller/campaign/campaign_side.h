/* SPDX-License-Identifier: Apache-2.0 */
/* The members of a campaign's group: reading their reports, and ending the group. */
#pragma once

#include "controller/campaign/campaign.h"

/* Records what a member's report says about the check. */
void campaign_side_read(struct campaign_side *side, const char *check, const struct report *report);

/* Ends the group once all members have answered or its time is up. */
void campaign_settle(struct campaign *c, struct campaign_group *g);

/* Marks the host as gone: it gets no more orders. Keeps the first reason. */
void campaign_drop(struct campaign_host *host, const char *why);

/* Returns the rank of the host in the group, or SIZE_MAX. */
size_t campaign_seat(const struct campaign_group *g, size_t host);
