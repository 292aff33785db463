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

enum anomaly_set {
	ANOMALY_HOSTS,	 /* all that reported; its check is "" */
	ANOMALY_LOW,	 /* warn or fail, by more than the peers on the host */
	ANOMALY_SUSPECT, /* and the other hosts do not contradict */
	ANOMALY_SHARED, /* its finding belongs to a notice of the policy: the SKU's, a domain's, ... */
	ANOMALY_FILE, /* far below what the SKU file asks, and nothing else says low */
};

enum {
	ANOMALIES_MAX = 20000,	 /* sets */
	ANOMALIES_OWN_MAX = 512, /* of one host that no other is in */
	/*
	 * The newest runs of so many hosts of a SKU, and of a quarter of them, speak for its file.
	 * Were one host in ten far below a right file, half of 20 would be in one draw of 7,000;
	 * and a quarter is more than one rack of a large SKU.
	 */
	ANOMALY_FILE_MIN = 20,
};

struct anomalies {
	void *tree; /* of struct anomaly, by key */
	size_t n;
	uint64_t uses; /* counts up with each set that a host is put into */
	struct shares shares;
};

/* Put the host into a set, or take it out. */
void anomalies_set(struct anomalies *s, int set, const char *sku, const char *check,
		   const char *node, bool in);

bool anomalies_has(const struct anomalies *s, int set, const char *sku, const char *check,
		   const char *node);

size_t anomalies_count(const struct anomalies *s, int set, const char *sku, const char *check);

/* Half or more of at least REFERENCE_N_MIN hosts. */
bool anomalies_wide(const struct anomalies *s, int set, const char *sku, const char *check);

/* It was wide, and now it is fewer than a quarter: between the two what is told stands. */
bool anomalies_over(const struct anomalies *s, int set, const char *sku, const char *check);

/* The host was measured in the check: ANOMALY_FILE has it or has not, and this is its newest run. */
void anomalies_measured(struct anomalies *s, const char *sku, const char *check, const char *node,
			bool far_below_file);

/*
 * Half or more of a SKU's hosts are far below what its file asks in some check, or of those that
 * were measured last (ANOMALY_FILE_MIN): a file that was made wrong need not wait for all hosts to
 * run. The SKU of the first such, borrowed until the next anomalies_set(); NULL: none.
 */
const char *anomalies_file(const struct anomalies *s);

/* A person has looked at it, or the file is another one: only what is measured from now on counts. */
void anomalies_forgive_file(struct anomalies *s);

/* Empty the sets of that kind. */
void anomalies_clear(struct anomalies *s, int set);

/* Is there an incident of the SKU about the check? That is kept beside the sets. */
void anomalies_tell(struct anomalies *s, const char *sku, const char *check, bool told);
bool anomalies_told(const struct anomalies *s, const char *sku, const char *check);

/*
 * Call `visit` with each check that a run of the host may change something of: whose ANOMALY_LOW
 * has it, that is told, or in which a host is far below the file. It may change sets.
 */
void anomalies_each(struct anomalies *s, const char *sku, const char *node,
		    void (*visit)(void *context, const char *check), void *context);

/* The host is gone, or another machine: take it out of all sets. */
void anomalies_forget(struct anomalies *s, const char *node);

void anomalies_release(struct anomalies *s);
