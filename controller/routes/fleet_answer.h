/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The view of the fleet as /v1/fleet and /v1/changes tell it. It is looked at once a second at
 * most: between two looks all who saw the same version are given the same bytes, written once.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

struct api_body;
struct fleet_feed;
struct service;

/* Answers are so old at most. */
#define FLEET_ANSWER_US USEC_PER_SEC

enum {
	/* Different versions that are asked for between two looks, whose answers are shared; more
	 * are written for each. */
	FLEET_ANSWER_SHARED = 8,
};

struct fleet_answer_kept {
	uint64_t since;
	struct api_body *body;
};

/* Read it; only fleet_answer.c writes. */
struct fleet_answer {
	uint64_t id;	  /* of this view of this controller */
	uint64_t epoch;	  /* of the controller, when the id was made */
	uint64_t version; /* at the last look: what answers tell */
	uint64_t look_us; /* monotonic; 0: never */
	char *as_of;	  /* its stamp */
	char *head;	  /* policy and breaker as they were then: JSON, without braces */
	json_t *worst;	  /* likewise */
	uint64_t worst_version;
	struct api_body *whole; /* NULL: nobody has asked since the last look */
	struct fleet_answer_kept kept[FLEET_ANSWER_SHARED];
	size_t n_kept;
};

void fleet_answer_init(struct fleet_answer *a);
void fleet_answer_release(struct fleet_answer *a);

/* Look at the feed, which is read, unless that was just now. True: there is a newer version. */
bool fleet_answer_look(struct fleet_answer *a, struct fleet_feed *feed, uint64_t mono_us);

/* What GET /v1/fleet is answered; borrowed until the next look. */
struct api_body *fleet_answer_whole(struct fleet_answer *a, const struct fleet_feed *feed);

/* What has changed since the version, or all; yours is a reference. */
struct api_body *fleet_answer_since(struct fleet_answer *a, const struct fleet_feed *feed,
				    uint64_t since);

/* A version of another view: what who has it is told. New reference. */
json_t *fleet_answer_reset(const struct fleet_answer *a, const struct service *s);

/* The number of a version of this view, not beyond the last look. -EINVAL: it is no version;
 * -ESTALE: of another. */
int fleet_answer_number(const struct fleet_answer *a, const char *version, uint64_t *ret);
