/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What we call what we write on nodes and Leases, and read there: all of it stands behind one
 * prefix, a DNS subdomain, so that nobody else's names are ours. Made once, at the start: what
 * stands under another prefix is another's.
 */
#pragma once

#include "lib/base/macro.h"
#include "lib/base/subdomain.h"

/* Unless the settings say another one. */
#define CLUSTER_PREFIX "assay.dev"

enum {
	CLUSTER_NAME_SIZE = SUBDOMAIN_MAX + 67, /* with what is before and behind it, and a NUL */
};

struct cluster_names {
	char prefix[CLUSTER_NAME_SIZE];
	/* annotations of a node */
	char cordon[CLUSTER_NAME_SIZE];	  /* our mark, a JSON text (cluster_mark_encode()) */
	char override[CLUSTER_NAME_SIZE]; /* override-until, an RFC 3339 stamp */
	char drain[CLUSTER_NAME_SIZE];	  /* what runs here should leave */
	/* labels of a node */
	char managed[CLUSTER_NAME_SIZE]; /* "false": hands off */
	/* taints */
	char testing[CLUSTER_NAME_SIZE];    /* our hold */
	char unverified[CLUSTER_NAME_SIZE]; /* the kubelet's, of a new node */
	char unhealthy[CLUSTER_NAME_SIZE];  /* beside a cordon, where the settings want one */
	/* the type of our condition */
	char healthy[CLUSTER_NAME_SIZE];
	/* annotations of the Lease of the ledger */
	char ledger[CLUSTER_NAME_SIZE];	       /* its text */
	char ledger_writer[CLUSTER_NAME_SIZE]; /* who wrote it last */
	char stop[CLUSTER_NAME_SIZE];	       /* the kill switch */
	/* sentences with one of them */
	char not_our_mark[CLUSTER_NAME_SIZE], not_our_hold[CLUSTER_NAME_SIZE];
	char opted_out[CLUSTER_NAME_SIZE], undo_verified[CLUSTER_NAME_SIZE];
};

/* Those behind CLUSTER_PREFIX. */
extern const struct cluster_names cluster_names_usual;

/* Those behind `prefix`, which cluster_prefix_wrong() has nothing against; NULL: CLUSTER_PREFIX. */
struct cluster_names cluster_names_of(const char *prefix);

/*
 * What is wrong with this prefix, behind "want "; NULL: nothing. The rules are those of the
 * prefix of a label's key: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/
 */
const char *cluster_prefix_wrong(const char *prefix);
