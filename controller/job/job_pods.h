/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the pods of a job are, asked of the cluster when a window of it is about to be analysed. A
 * cluster that does not answer, or does not know, leaves nothing known: the window goes on.
 */
#pragma once

#include "controller/job/placing.h"
#include "lib/base/macro.h"

struct cluster;
struct job_pods;

/* `done` is called once for each job_pods_ask(), also before that returns. */
struct job_pods *job_pods_new(void (*done)(void *context), void *context);

/* `done` is not called any more, though the cluster may answer later. NULL is fine. */
void job_pods_free(struct job_pods *pods);

/* What was known is forgotten. Not while it is being asked. `cluster` NULL knows nothing. */
void job_pods_ask(struct job_pods *pods, struct cluster *cluster, const char *job);
void job_pods_forget(struct job_pods *pods);

bool job_pods_asked(const struct job_pods *pods);

/* As it was answered last. Borrowed until it is asked again. */
const struct placing_pods *job_pods_known(const struct job_pods *pods);
