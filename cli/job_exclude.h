/* SPDX-License-Identifier: Apache-2.0 */
/* The hosts to exclude when a job is restarted, in the syntax of its launcher. */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "lib/base/macro.h"

struct err;

/* NULL-terminated: "kube" (a node affinity), "slurm" (--exclude=a,b), "file" (one per line). */
extern const char *const job_exclude_forms[];

/*
 * From the answer of GET /v1/jobs/ID: the hosts that the last advice excludes and those to be
 * taken out of service, sorted, without duplicates: {"job", "id", "as", "exclude"}. -EPROTO: one
 * of them is not a valid host name.
 */
int job_exclude_of(const json_t *job, const char *form, json_t **ret, struct err *err);

/* Print it in its syntax; nothing if no host is excluded. */
void job_exclude_print(const json_t *exclude, FILE *out);
