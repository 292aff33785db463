/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assay-plan operations on pipelines. Each parses its arguments and adds its results to `answer`.
 * -ERANGE: impossible, and the message says which bound is broken by how much; -EINVAL: bad
 * arguments.
 */
#pragma once

#include "attribution/plan_args.h"

int plan_pipeline_1f1b(struct plan_args *args, json_t *answer, struct err *err);
int plan_pipeline_template(struct plan_args *args, json_t *answer, struct err *err);
int plan_pipeline_split(struct plan_args *args, json_t *answer, struct err *err);
int plan_pipeline_distribute(struct plan_args *args, json_t *answer, struct err *err);
int plan_pipeline_layers(struct plan_args *args, json_t *answer, struct err *err);
