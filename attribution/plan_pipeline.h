/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations of assay-plan about pipelines. Each reads its arguments and puts its answer's
 * members into `answer`. -ERANGE: what is asked cannot be had, the sentence says which bound
 * it breaks by how much; -EINVAL: the arguments are wrong.
 */
#pragma once

#include "attribution/plan_args.h"

int plan_pipeline_1f1b(struct plan_args *args, json_t *answer, struct err *err);
int plan_pipeline_template(struct plan_args *args, json_t *answer, struct err *err);
int plan_pipeline_split(struct plan_args *args, json_t *answer, struct err *err);
int plan_pipeline_distribute(struct plan_args *args, json_t *answer, struct err *err);
int plan_pipeline_layers(struct plan_args *args, json_t *answer, struct err *err);
