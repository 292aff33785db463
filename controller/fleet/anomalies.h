/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is it the host or the fleet? Tracks which hosts of a SKU were bad in a check when they last ran
 * it. If half or more are, no median can tell which are faulty: something they share has changed (a
 * driver, a setting, a switch, the SKU file), and the finding belongs to the fleet. Pure; in
 * memory, relearned after a start.
 *
 * Empty sets do not exist. The number of sets with a single host is limited per host, and a full
 * table makes room (share.h); sets with an open incident stay.
 */
#pragma once

#include <stddef.h>

#include "controller/fleet/share.h"
#include "lib/base/macro.h"

enum anomaly_set {
	ANOMALY_HOSTS,	 /* all that reported; its check is "" */
	ANOMALY_LOW,	 /* warn or fail by more than the host's own peers */
	ANOMALY_SUSPECT, /* low in a bad run: other hosts do not contradict */
	ANOMALY_SHARED, /* the finding belongs to a notice of the policy: the SKU's, a domain's, ... */
	ANOMALY_FILE, /* far below the SKU file, and low by no other reference */
};

enum {
	ANOMALIES_MAX = 20000,	 /* sets */
	ANOMALIES_OWN_MAX = 512, /* with a single host, per host */
	/*
	 * Minimum number of a SKU's newest runs, and at least a quarter of its hosts, to judge its
	 * file by. If one host in ten were far below a correct file, half of 20 would be so in one
	 * draw of 7,000; and a quarter is more than one rack of a large SKU.
	 */
	ANOMALY_FILE_MIN = 20,
};

struct anomalies {
	void *tree; /* struct anomaly, by key */
	size_t n;
	uint64_t uses; /* incremented whenever a host is put into a set */
	struct shares shares;
};

/* Put the host into a set, or remove it. */
void anomalies_set(struct anomalies *s, int set, const char *sku, const char *check,
		   const char *node, bool in);

bool anomalies_has(const struct anomalies *s, int set, const char *sku, const char *check,
		   const char *node);

size_t anomalies_count(const struct anomalies *s, int set, const char *sku, const char *check);

/* Half or more of at least REFERENCE_N_MIN hosts? */
bool anomalies_wide(const struct anomalies *s, int set, const char *sku, const char *check);

/* Is it below a quarter now, so that it counts as over? In between, an open incident stays. */
bool anomalies_over(const struct anomalies *s, int set, const char *sku, const char *check);

/* The host was measured in the check: updates ANOMALY_FILE and the newest runs. */
void anomalies_measured(struct anomalies *s, const char *sku, const char *check, const char *node,
			bool far_below_file);

/*
 * Returns the first SKU of which half or more of the hosts are far below the SKU file in some
 * check, or half of the newest runs (ANOMALY_FILE_MIN), so that a wrong file is found before all
 * hosts have run. Borrowed until the next anomalies_set(); NULL: none.
 */
const char *anomalies_file(const struct anomalies *s);

/* A person has checked the file, or it was replaced: only new measurements count. */
void anomalies_forgive_file(struct anomalies *s);

/* Empty all sets of that kind. */
void anomalies_clear(struct anomalies *s, int set);

/* Is there an open incident of the SKU for the check? Kept beside the sets. */
void anomalies_tell(struct anomalies *s, const char *sku, const char *check, bool told);
bool anomalies_told(const struct anomalies *s, const char *sku, const char *check);

/*
 * Call `visit` with each check that a run of the host may affect: its ANOMALY_LOW has the host or
 * an open incident, or a host is far below the file. `visit` may change sets.
 */
void anomalies_each(struct anomalies *s, const char *sku, const char *node,
		    void (*visit)(void *context, const char *check), void *context);

/* The host is gone or was replaced: remove it from all sets. */
void anomalies_forget(struct anomalies *s, const char *node);

void anomalies_release(struct anomalies *s);
