/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is it the host, or the fleet? Which hosts of a SKU were bad in a check when
 * they last ran it. When half or more are, no median can say who is sick: what
 * they share has changed (a driver, a setting, a switch, the SKU file), and the
 * finding is one of the fleet. Pure; kept in memory, learnt anew after a start.
 *
 * A set without hosts is none. Sets of one host are bounded for each host, and a full
 * table makes room (share.h); what is told stays.
 */
#pragma once

#include <stddef.h>

#include "controller/fleet/share.h"
#include "lib/base/macro.h"

enum shift_set {
	SHIFT_HOSTS,   /* all that reported; its check is "" */
	SHIFT_LOW,     /* warn or fail, by more than the peers on the host */
	SHIFT_SUSPECT, /* and the other hosts do not contradict */
	SHIFT_SHARED, /* its finding belongs to a notice of the policy: the SKU's, a domain's, ... */
	SHIFT_FILE,   /* far below what the SKU file asks, and nothing else says low */
};

enum {
	SHIFTS_MAX = 20000,   /* sets */
	SHIFTS_OWN_MAX = 512, /* of one host that no other is in */
	/*
	 * The newest runs of so many hosts of a SKU, and of a quarter of them, speak for its file.
	 * Were one host in ten far below a right file, half of 20 would be in one draw of 7,000;
	 * and a quarter is more than one rack of a large SKU.
	 */
	SHIFT_FILE_MIN = 20,
};

struct shifts {
	void *tree; /* of struct shift, by key */
	size_t n;
	uint64_t uses; /* counts up with each set that a host is put into */
	struct shares shares;
};

/* Put the host into a set, or take it out. */
void shifts_set(struct shifts *s, int set, const char *sku, const char *check, const char *node,
		bool in);

bool shifts_has(const struct shifts *s, int set, const char *sku, const char *check,
		const char *node);

size_t shifts_count(const struct shifts *s, int set, const char *sku, const char *check);

/* Half or more of at least REFERENCE_N_MIN hosts. */
bool shifts_wide(const struct shifts *s, int set, const char *sku, const char *check);

/* It was wide, and now it is fewer than a quarter: between the two what is told stands. */
bool shifts_over(const struct shifts *s, int set, const char *sku, const char *check);

/* The host was measured in the check: SHIFT_FILE has it or has not, and this is its newest run. */
void shifts_measured(struct shifts *s, const char *sku, const char *check, const char *node,
		     bool far_below_file);

/*
 * Half or more of a SKU's hosts are far below what its file asks in some check, or of those that
 * were measured last (SHIFT_FILE_MIN): a file that was made wrong need not wait for all hosts to
 * run. The SKU of the first such, borrowed until the next shifts_set(); NULL: none.
 */
const char *shifts_file(const struct shifts *s);

/* A person has looked at it, or the file is another one: only what is measured from now on counts. */
void shifts_forgive_file(struct shifts *s);

/* Empty the sets of that kind. */
void shifts_clear(struct shifts *s, int set);

/* Is there an incident of the SKU about the check? That is kept beside the sets. */
void shifts_tell(struct shifts *s, const char *sku, const char *check, bool told);
bool shifts_told(const struct shifts *s, const char *sku, const char *check);

/*
 * Call `visit` with each check that a run of the host may change something of: whose SHIFT_LOW has
 * it, that is told, or in which a host is far below the file. It may change sets.
 */
void shifts_each(struct shifts *s, const char *sku, const char *node,
		 void (*visit)(void *context, const char *check), void *context);

/* The host is gone, or another machine: take it out of all sets. */
void shifts_forget(struct shifts *s, const char *node);

void shifts_release(struct shifts *s);
