/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queries by people are queued, while reports and agents are served at once: queries are answered
 * one after the other when there is nothing else to do. So that a stream of reports does not starve
 * them, one is answered at least every HURRY_US. Callers with too many at once are told to retry.
 */
#pragma once

#include <stdbool.h>
#include <sys/queue.h>
#include <systemd/sd-event.h>

struct api;
struct call;

TAILQ_HEAD(question_list, call);

struct questions {
	struct question_list list;
	unsigned n;
	sd_event_source *ask, *hurry;
};

/* Returns a negative errno of the loop; they must be closed even then. */
int api_questions_open(struct api *api);
void api_questions_close(struct api *api);

/* Is the call queued? Others are handled at once. */
bool api_questions_is_one(const struct call *call);

/* Queue it, or refuse it with 503; it leaves the queue if its peer goes away. */
void api_questions_put(struct call *call);
