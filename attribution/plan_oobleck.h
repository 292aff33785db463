/* SPDX-License-Identifier: Apache-2.0 */
/* assay-plan operations on pipelines of several sizes; conventions as in plan_pipeline.h. */
#pragma once

#include "attribution/plan_args.h"

int plan_oobleck_sizes(struct plan_args *args, json_t *answer, struct err *err);
int plan_oobleck_instantiate(struct plan_args *args, json_t *answer, struct err *err);
int plan_oobleck_reconfigure(struct plan_args *args, json_t *answer, struct err *err);
