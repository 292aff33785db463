/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions of people wait in a queue, reports and agents do not: one question after the other
 * is answered when nothing else is to be done. So that a stream of reports does not shut people out,
 * one is answered every HURRY_US all the same. Who asks too much at once is told to come again.
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

/* A negative errno of the loop; close them then too. */
int api_questions_open(struct api *api);
void api_questions_close(struct api *api);

/* Is it one that waits? The others are handled at once. */
bool api_questions_is_one(const struct call *call);

/* Let it wait for its turn, or refuse it with 503; when its peer goes away it leaves the queue. */
void api_questions_put(struct call *call);
