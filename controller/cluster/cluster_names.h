/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of everything we write on nodes and Leases and read there, all with one prefix, a DNS
 * subdomain, so that they cannot collide with others. Built once at the start. Names with another
 * prefix are not ours.
 */
#pragma once

#include "lib/base/macro.h"
#include "lib/base/subdomain.h"

/* The default prefix. */
#define CLUSTER_PREFIX "assay.dev"

enum {
	CLUSTER_NAME_SIZE = SUBDOMAIN_MAX + 67, /* with what surrounds the prefix, and a NUL */
};

struct cluster_names {
	char prefix[CLUSTER_NAME_SIZE];
	/* annotations of a node */
	char cordon[CLUSTER_NAME_SIZE];	  /* our mark, JSON (cluster_mark_encode()) */
	char override[CLUSTER_NAME_SIZE]; /* override-until, an RFC 3339 time */
	char drain[CLUSTER_NAME_SIZE];	  /* jobs here should leave */
	/* labels of a node */
	char managed[CLUSTER_NAME_SIZE]; /* "false": hands off */
	/* taints */
	char testing[CLUSTER_NAME_SIZE];    /* our hold */
	char unverified[CLUSTER_NAME_SIZE]; /* set by the kubelet on a new node */
	char unhealthy[CLUSTER_NAME_SIZE]; /* in addition to a cordon, if the settings ask for it */
	/* type of our condition */
	char healthy[CLUSTER_NAME_SIZE];
	/* annotations of the ledger's Lease */
	char ledger[CLUSTER_NAME_SIZE];	       /* its text */
	char ledger_writer[CLUSTER_NAME_SIZE]; /* the last writer */
	char stop[CLUSTER_NAME_SIZE];	       /* the kill switch */
	/* sentences that contain one of them */
	char not_our_mark[CLUSTER_NAME_SIZE], not_our_hold[CLUSTER_NAME_SIZE];
	char opted_out[CLUSTER_NAME_SIZE], undo_verified[CLUSTER_NAME_SIZE];
};

/* The names with CLUSTER_PREFIX. */
extern const struct cluster_names cluster_names_usual;

/* The names with `prefix`, which must pass cluster_prefix_wrong(); NULL: CLUSTER_PREFIX. */
struct cluster_names cluster_names_of(const char *prefix);

/*
 * Returns what is wrong with the prefix, to follow "want "; NULL: nothing. The rules are those for
 * the prefix of a label key:
 * https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/
 */
const char *cluster_prefix_wrong(const char *prefix);
