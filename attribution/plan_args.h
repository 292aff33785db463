/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arguments of one line of assay-plan: an object whose members have the symbols of the
 * papers (N, n0, N_b ...) or a word for them ("nodes"). Complaints name file, line and member.
 * What no operation asked for is told back: plan_args_ignored().
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/json/json.h"

struct err;

enum { PLAN_ARGS_MAX = 16 }; /* that one operation may ask for */

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

/* The least and the most that a number, or each of a list, may be. */
struct plan_args_range {
	double least, most;
};

/* The member, by its symbol or its word; its value is NULL when there is none. */
struct jval plan_args_get(struct plan_args *args, const char *symbol);
bool plan_args_has(struct plan_args *args, const char *symbol);

/* A whole number. -EINVAL when it is absent or out of its range, as of all below. */
int plan_args_count(struct plan_args *args, const char *symbol, struct plan_args_range range,
		    size_t *ret_count, struct err *err);
int plan_args_real(struct plan_args *args, const char *symbol, struct plan_args_range range,
		   double *ret_real, struct err *err);

/* A list of 1 to `most` numbers; free() its `v`. */
int plan_args_reals(struct plan_args *args, const char *symbol, struct plan_args_range range,
		    size_t most, struct plan_args_reals *ret_reals, struct err *err);
int plan_args_counts(struct plan_args *args, const char *symbol, struct plan_args_range range,
		     size_t most, struct plan_args_counts *ret_counts, struct err *err);

/* The same of a value, which may be deeper; a list may be empty. */
int plan_args_count_of(const struct jval *v, struct plan_args_range range, size_t *ret_count,
		       struct err *err);
int plan_args_counts_of(const struct jval *v, struct plan_args_range range, size_t most,
			struct plan_args_counts *ret_counts, struct err *err);
int plan_args_reals_of(const struct jval *v, struct plan_args_range range, size_t most,
		       struct plan_args_reals *ret_reals, struct err *err);

/* The members that nobody asked for, `op` and `id` aside: new reference; NULL when there are none. */
json_t *plan_args_ignored(const struct plan_args *args);

/* Numbers as a list: new references. */
json_t *plan_args_json_counts(const size_t *v, size_t n);
json_t *plan_args_json_reals(const double *v, size_t n);

/* For CLEANUP(). */
void plan_args_reals_release(struct plan_args_reals *reals);
void plan_args_counts_release(struct plan_args_counts *counts);
