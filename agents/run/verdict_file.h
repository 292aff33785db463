/* SPDX-License-Identifier: Apache-2.0 */
/*
 * $STATE/last/<profile>.json (the last run of each profile: report and
 * verdict) and $STATE/verdict.json, what is known of this host by all of them:
 * per (check, subject) the newest item of any profile, never replaced by a
 * profile that does not run that check; profile and time are those of the
 * newest active run (verdict_merge() in lib/judge).
 *
 * verdict.json is written here and nowhere else, under a lock, by rename: a
 * reader sees the old one or the new one.
 */
#pragma once

#include "lib/base/macro.h"
#include "lib/judge/verdict.h"

struct err;
struct clock_pair;
struct report;

enum {
	VERDICT_FILE_RUNS_MAX = 256, /* verdicts of last/ that are read */
	VERDICT_FILE_KEPT_MAX = 16,  /* earlier runs that one file keeps items of */
};

/*
 * Keep a run as last/<profile>.json and merge all that is there into
 * verdict.json; `active`: it ran active probes. Items of earlier runs of the
 * profile whose probe did not run this time (busy) or did not end stay with
 * it, under "kept", and so do fatal ones that it did not measure again: a run that
 * measured nothing clears nothing. The fleet's opinion in
 * verdict.json stays. A file that cannot be read, or is from another node or
 * machine, counts as not there.
 */
int verdict_file_keep(const struct report *report, const struct verdict *verdict, bool active,
		      struct err *err);

/*
 * Note in an opinion that just came when it expires by the time since the
 * boot: {boot_id, until_s}. A wall clock that jumps then makes it neither live on
 * nor end early.
 */
void verdict_file_date_fleet(json_t *fleet, const struct clock_pair *now);

/*
 * Put the controller's opinion (borrowed; NULL: none any more) into
 * verdict.json and leave the rest of it. Before the first run, or in place of
 * a file that is none, it stands there alone: no items, an empty profile, seq 0.
 */
int verdict_file_set_fleet(json_t *fleet, struct err *err);

/*
 * May verdict.json be believed? What it says is root's word, or that of the user we run as; a hand
 * of theirs may edit it, as it may edit anything. -EACCES with what to do when others can write it
 * (lib/sys/writers.h); -ENOENT.
 */
int verdict_file_trusted(struct err *err);

/* Read verdict.json. -ENOENT when there is none, -EINVAL when it is none. */
int verdict_file_read(struct verdict *ret, struct err *err);

/*
 * The verdict of the last run of a profile, with the items that it keeps of
 * earlier ones behind its own. Negative when there is none that can be read, or
 * only that of another machine than `machine` (lib/sys/machine.h; NULL: any).
 */
int verdict_file_last(const char *profile, const char *machine, struct verdict *ret);

/*
 * Call `visit` for each run that is kept in last/; `name` is "last/quick.json"
 * and `run` is borrowed. What cannot be read counts as not there. -ENOENT when
 * there never was a run.
 */
int verdict_file_visit(void (*visit)(void *context, const char *name, const json_t *run),
		       void *context, struct err *err);

/* The object of `assay run -o json` and of last/<profile>.json. New reference. */
json_t *run_encode(const struct report *report, const struct verdict *verdict);
