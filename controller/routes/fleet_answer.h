/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The view of the fleet as returned by /v1/fleet and /v1/changes. It is updated at most once a
 * second: between two updates all clients at the same version get the same bytes, encoded once.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

struct api_body;
struct fleet_feed;
struct service;

/* Maximum age of answers. */
#define FLEET_ANSWER_US USEC_PER_SEC

enum {
	/* Different versions requested between two updates whose answers are shared; further ones
	 * are encoded for each call. */
	FLEET_ANSWER_SHARED = 8,
};

struct fleet_answer_kept {
	uint64_t since;
	struct api_body *body;
};

/* Written only by fleet_answer.c. */
struct fleet_answer {
	uint64_t id;	  /* of this view in this controller */
	uint64_t epoch;	  /* of the controller, when the ID was made */
	uint64_t version; /* at the last update: the one in answers */
	uint64_t look_us; /* of the last update, monotonic; 0: never */
	char *as_of;	  /* its time */
	char *head;	  /* policy and breaker at that time: JSON, without braces */
	json_t *worst;	  /* at that time */
	uint64_t worst_version;
	struct api_body *whole; /* NULL: not requested since the last update */
	struct fleet_answer_kept kept[FLEET_ANSWER_SHARED];
	size_t n_kept;
};

void fleet_answer_init(struct fleet_answer *a);
void fleet_answer_release(struct fleet_answer *a);

/* Update from the feed, which must be complete, unless that was just done. Returns true if there is
 * a newer version. */
bool fleet_answer_look(struct fleet_answer *a, struct fleet_feed *feed, uint64_t mono_us);

/* The answer to GET /v1/fleet; borrowed until the next update. */
struct api_body *fleet_answer_whole(struct fleet_answer *a, const struct fleet_feed *feed);

/* Changes since the version, or everything. Returns a reference owned by the caller. */
struct api_body *fleet_answer_since(struct fleet_answer *a, const struct fleet_feed *feed,
				    uint64_t since);

/* The answer for a version of another view. New reference. */
json_t *fleet_answer_reset(const struct fleet_answer *a, const struct service *s);

/* The number of a version of this view, at most that of the last update. -EINVAL: not a version;
 * -ESTALE: of another view. */
int fleet_answer_number(const struct fleet_answer *a, const char *version, uint64_t *ret);
