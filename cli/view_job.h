/* SPDX-License-Identifier: Apache-2.0 */
/* One job as text: for `assayctl job`, and for commands that end with it. */
#pragma once

#include <jansson.h>

struct err;
struct link;
struct page;

/* GET the job with that id ("j12"). New reference. Errors as link_get(). */
int view_job_fetch(struct link *link, const char *id, json_t **ret, struct err *err);

/* Print heat map, suspects, cause, decision and windows of a job from view_job_fetch(). */
void view_job_show(const json_t *job, struct page *page);

/*
 * "research/llm-7 (j12), run 1: 16 hosts, 8.99 s a step, slowdown 1.09 [1.07, 1.11]". The caller
 * frees it.
 */
char *view_job_head(const json_t *job);
