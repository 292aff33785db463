/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the pods of a job are: the cluster is asked before a window of it is analysed. If the
 * cluster does not answer or does not know, the window goes on without.
 */
#pragma once

#include "controller/job/placing.h"
#include "lib/base/macro.h"

struct cluster;
struct job_pods;

/* `done` is called once for each job_pods_ask(), possibly before that returns. */
struct job_pods *job_pods_new(void (*done)(void *context), void *context);

/* `done` is not called any more, even if the cluster answers later. NULL is allowed. */
void job_pods_free(struct job_pods *pods);

/* Ask, forgetting the last answer; not while a request is pending. `cluster` may be NULL: no
 * answer. */
void job_pods_ask(struct job_pods *pods, struct cluster *cluster, const char *job);
void job_pods_forget(struct job_pods *pods);

bool job_pods_asked(const struct job_pods *pods);

/* The last answer. Borrowed until the next request. */
const struct placing_pods *job_pods_known(const struct job_pods *pods);
