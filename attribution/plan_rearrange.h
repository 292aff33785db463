/* SPDX-License-Identifier: Apache-2.0 */
/* assay-plan operations on whole jobs; conventions as in plan_pipeline.h. */
#pragma once

#include "attribution/plan_args.h"

int plan_rearrange(struct plan_args *args, json_t *answer, struct err *err);
int plan_rearrange_shrink(struct plan_args *args, json_t *answer, struct err *err);
