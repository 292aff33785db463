/* SPDX-License-Identifier: Apache-2.0 */
/* What kube_jobs.c and kube_ranks.c share. */
#pragma once

#include "controller/cluster/kube/kube_jobs.h"

/* Row `i` of the site's and then the built-in ones; NULL after the last. */
const struct kube_job_row *kube_job_row_at(const struct kube_job_table *table, size_t i);

/* Is what the row goes by on the pod? */
bool kube_job_row_is(const struct kube_job_row *row, const struct kube_pod *pod);
