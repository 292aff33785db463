/* SPDX-License-Identifier: Apache-2.0 */
/* assay-plan operations on groups by sequence length; conventions as in plan_pipeline.h. */
#pragma once

#include "attribution/plan_args.h"

int plan_hotspa_group(struct plan_args *args, json_t *answer, struct err *err);
int plan_hotspa_switch(struct plan_args *args, json_t *answer, struct err *err);
int plan_hotspa_order(struct plan_args *args, json_t *answer, struct err *err);
