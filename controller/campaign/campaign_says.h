/* SPDX-License-Identifier: Apache-2.0 */
/* What a campaign comes to, in words. */
#pragma once

#include "controller/campaign/campaign.h"

/* What came of it in one sentence, new memory. */
char *campaign_sentence(const struct campaign *c);
