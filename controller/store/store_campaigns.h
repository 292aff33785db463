/* SPDX-License-Identifier: Apache-2.0 */
/* Campaigns (controller/campaign) as rows of the store: their JSON, as shown by the API. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct err;
struct store;
struct store_page;
struct store_range;

/* Key of the member that only the controller uses: the state needed to continue. */
#define STORE_CAMPAIGN_KEPT "kept"

enum { STORE_CAMPAIGNS_MAX = 1000 }; /* kept; beyond that the oldest finished ones are deleted */

/* Insert or replace it in the open transaction; `ended_us` 0: in progress. */
int store_put_campaign(struct store *s, int64_t id, uint64_t ended_us, const json_t *body,
		       struct err *err);

/* The highest number; 0: none. */
int store_last_campaign(struct store *s, int64_t *ret_id, struct err *err);

/* Newest first, without rounds, nodes and STORE_CAMPAIGN_KEPT. */
int store_campaigns(struct store *s, const struct store_range *range, struct store_page *ret,
		    struct err *err);

/* A campaign with all members, new reference. -ENOENT. */
int store_campaign(struct store *s, int64_t id, json_t **ret_campaign, struct err *err);

/* Numbers of those in progress, oldest first: an array, new reference. */
int store_open_campaigns(struct store *s, json_t **ret_ids, struct err *err);
