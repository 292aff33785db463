/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of assay-plan about groups by sequence length; plan_pipeline.h says what each does. */
#pragma once

#include "attribution/plan_args.h"

int plan_hotspa_group(struct plan_args *args, json_t *answer, struct err *err);
int plan_hotspa_switch(struct plan_args *args, json_t *answer, struct err *err);
int plan_hotspa_order(struct plan_args *args, json_t *answer, struct err *err);
