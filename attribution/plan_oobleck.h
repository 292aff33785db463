/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of assay-plan about pipelines of several sizes; plan_pipeline.h says what each does. */
#pragma once

#include "attribution/plan_args.h"

int plan_oobleck_sizes(struct plan_args *args, json_t *answer, struct err *err);
int plan_oobleck_instantiate(struct plan_args *args, json_t *answer, struct err *err);
int plan_oobleck_reconfigure(struct plan_args *args, json_t *answer, struct err *err);
