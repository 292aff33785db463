/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of assay-plan about whole jobs; plan_pipeline.h says what each does. */
#pragma once

#include "attribution/plan_args.h"

int plan_rearrange(struct plan_args *args, json_t *answer, struct err *err);
int plan_rearrange_shrink(struct plan_args *args, json_t *answer, struct err *err);
