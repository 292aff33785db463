/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program keeps between runs, as small JSON files under the state directory, each replaced
 * by rename (lib/sys/file.h).
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct err;

enum { STATE_FILE_MAX = 4 * 1024 * 1024 };

/* Reads $STATE/`name`. -ENOENT if absent; -EINVAL if it is not JSON. */
int state_load(const char *name, json_t **ret_value, struct err *err);

/* Replaces $STATE/`name`, creating its directories. */
int state_save(const char *name, const json_t *value, struct err *err);

/*
 * The next number of $STATE/seq, from 1: taken under a lock and fsynced before it is returned, so
 * that no number is ever used twice, whatever crashes.
 */
int state_next_seq(uint64_t *ret_seq, struct err *err);
