/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of assay-plan about schedules and spare hosts; plan_pipeline.h says what each does. */
#pragma once

#include "attribution/plan_args.h"

int plan_schedule(struct plan_args *args, json_t *answer, struct err *err);
int plan_schedule_standby(struct plan_args *args, json_t *answer, struct err *err);
