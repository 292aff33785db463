/* SPDX-License-Identifier: Apache-2.0 */
/* The result of a campaign in words. */
#pragma once

#include "controller/campaign/campaign.h"

/* Returns the result in one sentence. The caller frees it. */
char *campaign_sentence(const struct campaign *c);
