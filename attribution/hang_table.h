/* SPDX-License-Identifier: Apache-2.0 */
/* A verdict on a hang for people: who has stopped, why it is thought, where all ranks stand. */
#pragma once

#include <stdio.h>

#include "lib/hang/hang_judge.h"

enum { HANG_TABLE_ROWS_MAX = 64 }; /* ranks: those that are named first, then the lowest */

void hang_table_write(const struct hang_case *c, const struct hang_verdict *verdict, FILE *out);
