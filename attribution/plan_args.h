/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arguments of one line of assay-plan: an object whose members are named by the symbols of
 * the papers (N, n0, N_b ...) or by words ("nodes"). Errors name file, line and member.
 * plan_args_ignored() returns the members that no operation used.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/json/json.h"

struct err;

enum { PLAN_ARGS_MAX = 16 }; /* used by one operation */

struct plan_args {
	json_t *object; /* borrowed: the line */
	struct jval line;
	const char *asked[PLAN_ARGS_MAX]; /* symbols */
	size_t n_asked;
};

struct plan_args_reals {
	double *v; /* owned */
	size_t n;
};

struct plan_args_counts {
	size_t *v; /* owned */
	size_t n;
};

/* Allowed range of a number, or of each number of a list. */
struct plan_args_range {
	double least, most;
};

/* Get a member by its symbol or word; its value is NULL if there is none. */
struct jval plan_args_get(struct plan_args *args, const char *symbol);
bool plan_args_has(struct plan_args *args, const char *symbol);

/* Get an integer. As all functions below, -EINVAL if it is missing or out of range. */
int plan_args_count(struct plan_args *args, const char *symbol, struct plan_args_range range,
		    size_t *ret_count, struct err *err);
int plan_args_real(struct plan_args *args, const char *symbol, struct plan_args_range range,
		   double *ret_real, struct err *err);

/* Get a list of 1 to `most` numbers; the caller frees `v`. */
int plan_args_reals(struct plan_args *args, const char *symbol, struct plan_args_range range,
		    size_t most, struct plan_args_reals *ret_reals, struct err *err);
int plan_args_counts(struct plan_args *args, const char *symbol, struct plan_args_range range,
		     size_t most, struct plan_args_counts *ret_counts, struct err *err);

/* The same for a given value, possibly nested; lists may be empty. */
int plan_args_count_of(const struct jval *v, struct plan_args_range range, size_t *ret_count,
		       struct err *err);
int plan_args_counts_of(const struct jval *v, struct plan_args_range range, size_t most,
			struct plan_args_counts *ret_counts, struct err *err);
int plan_args_reals_of(const struct jval *v, struct plan_args_range range, size_t most,
		       struct plan_args_reals *ret_reals, struct err *err);

/* Unused members, except `op` and `id`: new reference, NULL if there are none. */
json_t *plan_args_ignored(const struct plan_args *args);

/* Encode numbers as a list: new references. */
json_t *plan_args_json_counts(const size_t *v, size_t n);
json_t *plan_args_json_reals(const double *v, size_t n);

/* For CLEANUP(). */
void plan_args_reals_release(struct plan_args_reals *reals);
void plan_args_counts_release(struct plan_args_counts *counts);
