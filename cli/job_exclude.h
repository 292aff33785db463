/* SPDX-License-Identifier: Apache-2.0 */
/* The hosts that a job is to be started without, as whoever starts it takes them. */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "lib/base/macro.h"

struct err;

/* The forms, up to NULL: "kube" (a node affinity), "slurm" (--exclude=a,b), "file" (one a line). */
extern const char *const job_exclude_forms[];

/*
 * Of what GET /v1/jobs/ID says: those that the last advice excludes and those that are to be taken
 * out of service, each once, ascending: {"job", "id", "as", "exclude"}. -EPROTO: one of them cannot
 * be the name of a host.
 */
int job_exclude_of(const json_t *job, const char *form, json_t **ret, struct err *err);

/* That in its form; nothing when nobody is excluded. */
void job_exclude_print(const json_t *exclude, FILE *out);
