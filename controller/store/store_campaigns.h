/* SPDX-License-Identifier: Apache-2.0 */
/* Campaigns (controller/campaign) as rows of the store: their JSON, as the API shows it. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct err;
struct store;
struct store_page;
struct store_range;

/* The key of a row that is for the controller alone: what it needs to go on with it. */
#define STORE_CAMPAIGN_KEPT "kept"

enum { STORE_CAMPAIGNS_MAX = 1000 }; /* kept; those that are over go beyond it, oldest first */

/* Put it into the open transaction, in place of what was there; `ended_us` 0: it goes on. */
int store_put_campaign(struct store *s, int64_t id, uint64_t ended_us, const json_t *body,
		       struct err *err);

/* The highest number that there is; 0: none. */
int store_last_campaign(struct store *s, int64_t *ret_id, struct err *err);

/* Newest first, without rounds, nodes and STORE_CAMPAIGN_KEPT. */
int store_campaigns(struct store *s, const struct store_range *range, struct store_page *ret,
		    struct err *err);

/* One of them with all that its row has, new reference. -ENOENT. */
int store_campaign(struct store *s, int64_t id, json_t **ret_campaign, struct err *err);

/* The numbers of those that go on, oldest first, an array; new reference. */
int store_open_campaigns(struct store *s, json_t **ret_ids, struct err *err);
