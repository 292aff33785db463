/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The meaning of kernel log lines, as data that people write: policies/kernel-log.yaml, a table of
 * POSIX extended regular expressions of which the first match counts, and policies/xid.yaml, the
 * severity of each NVIDIA Xid. Pure, except for reading the two files.
 */
#pragma once

#include <regex.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/json/json.h"

struct err;

enum {
	KERNEL_PATTERNS_MAX = 256,
	KERNEL_XIDS_MAX = 1024,
	KERNEL_GROUPS_MAX = 10, /* the whole match and nine captures */
};

struct kernel_pattern {
	char *name;
	char *match;
	int severity;	  /* enum severity */
	char *code;	  /* "xid:\2": "\N" is capture N */
	uint64_t subject; /* capture with the name of the device; 0: the host */
	uint64_t xid;	  /* capture with the number of an Xid; 0: none */
	char *note;
	regex_t regex;
	bool compiled;
	char *literal; /* contained in every match, or NULL: avoids most calls of regexec() */
};

struct kernel_xid {
	uint64_t xid;
	int severity; /* as for a pattern */
	char *action; /* what to do, one word */
	char *note;
	char *nvidia; /* NVIDIA's bucket of immediate action */
	char *azure;  /* what Azure does about it */
};

struct kernel_rules {
	struct kernel_pattern *patterns; /* owned */
	size_t n_patterns;
	struct kernel_xid *xids; /* owned */
	size_t n_xids;
};

/* Reads both files in directory `dir`. -EINVAL with "FILE: path.to.key: what". */
int kernel_rules_load(const char *dir, struct kernel_rules *ret, struct err *err);
void kernel_rules_release(struct kernel_rules *rules);

/* Take the tables of one document; `file` is for the message. -EINVAL. */
int kernel_rules_take_patterns(struct kernel_rules *rules, const json_t *doc, const char *file,
			       struct err *err);
int kernel_rules_take_xids(struct kernel_rules *rules, const json_t *doc, const char *file,
			   struct err *err);
