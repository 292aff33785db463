/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves job names to ids: names contain slashes, so paths use ids. */
#pragma once

#include <jansson.h>

struct err;
struct link;

/*
 * Find the id ("j12", freed by the caller) of the only job with that name, or with that id if
 * none has the name. -ENOENT with similar names; -EINVAL, with the ids, if several jobs have the
 * name; -EPROTONOSUPPORT as job_name_explain(); other errors as link_list().
 */
int job_name_resolve(struct link *link, const char *name, char **ret_id, struct err *err);

/*
 * Explain a 404 of a job route (`r` is -ENOENT) that cannot mean a missing job: -EPROTONOSUPPORT,
 * with a message. Returns any other `r` unchanged.
 */
int job_name_explain(int r, struct err *err);
