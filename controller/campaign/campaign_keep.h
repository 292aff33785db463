/* SPDX-License-Identifier: Apache-2.0 */
/* A campaign over a restart of the controller: all that it needs to go on, and back from that. */
#pragma once

#include <jansson.h>
#include <stdint.h>

struct campaign;
struct campaign_moment;
struct err;

/* All that it needs to go on, without the secrets of its groups. New reference. */
json_t *campaign_keep(const struct campaign *c, const struct campaign_moment *now);

/*
 * Make it again from that. -EINVAL with the place when it is not whole, -ECANCELED with a sentence
 * when it should not go on: too old, or resumed too often.
 */
int campaign_recall(int64_t id, const json_t *kept, const struct campaign_moment *now,
		    struct campaign **ret, struct err *err);
