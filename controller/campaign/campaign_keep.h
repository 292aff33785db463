/* SPDX-License-Identifier: Apache-2.0 */
/* Saves a campaign so that it can go on after a restart of the controller. */
#pragma once

#include <jansson.h>
#include <stdint.h>

struct campaign;
struct campaign_moment;
struct err;

/* Returns all that the campaign needs to go on, except the tokens of its groups. New reference. */
json_t *campaign_keep(const struct campaign *c, const struct campaign_moment *now);

/*
 * Restores a campaign from what campaign_keep() returned. Returns -EINVAL, with the place in `err`,
 * if that is not valid, or -ECANCELED with a sentence if it is too old or was resumed too often.
 */
int campaign_recall(int64_t id, const json_t *kept, const struct campaign_moment *now,
		    struct campaign **ret, struct err *err);
