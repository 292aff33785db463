/* SPDX-License-Identifier: Apache-2.0 */
/* Tests with others that the policy wants: each becomes a campaign of a few neighbours. */
#pragma once

struct service;

enum {
	CAMPAIGN_RETEST_HOSTS = 8, /* of one, the host that is tested among them */
	CAMPAIGN_RETEST_LEAST = 3, /* with fewer nobody could be named */
};

/* Begin the campaign of the next test that the actor wants, if there is one and it can be. */
void campaign_retest(struct service *s);
