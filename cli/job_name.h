/* SPDX-License-Identifier: Apache-2.0 */
/* From the name of a job to its id: names have slashes, so paths carry ids. */
#pragma once

#include <jansson.h>

struct err;
struct link;

/*
 * The id ("j12", new memory) of the one job of that name, or of that id when none has the
 * name. -ENOENT with the names that are near; -EINVAL when several jobs have it, with their
 * ids; -EPROTONOSUPPORT as job_name_explain(); else errors as link_list().
 */
int job_name_resolve(struct link *link, const char *name, char **ret_id, struct err *err);

/*
 * What a 404 of a route of jobs (`r` is -ENOENT) means where it cannot mean that there is no
 * such job: -EPROTONOSUPPORT, with the sentence. Any other `r` as it is.
 */
int job_name_explain(int r, struct err *err);
