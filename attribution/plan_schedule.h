/* SPDX-License-Identifier: Apache-2.0 */
/* assay-plan operations on schedules and spare hosts; conventions as in plan_pipeline.h. */
#pragma once

#include "attribution/plan_args.h"

int plan_schedule(struct plan_args *args, json_t *answer, struct err *err);
int plan_schedule_standby(struct plan_args *args, json_t *answer, struct err *err);
