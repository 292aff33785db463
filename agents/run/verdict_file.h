/* SPDX-License-Identifier: Apache-2.0 */
/*
 * $STATE/last/<profile>.json, the last run of each profile (report and verdict), and
 * $STATE/verdict.json, the state of this host from all of them: per (check, subject) the newest
 * item of any profile, never replaced by a profile that does not run that check. Its profile and
 * time are those of the newest active run (verdict_merge() in lib/judge).
 *
 * Only this file writes verdict.json, under a lock, by rename: a reader sees the old or the new
 * version.
 */
#pragma once

#include "lib/base/macro.h"
#include "lib/judge/verdict.h"

struct err;
struct clock_pair;
struct report;

enum {
	VERDICT_FILE_RUNS_MAX = 256, /* files of last/ that are read */
	VERDICT_FILE_KEPT_MAX = 16,  /* earlier runs whose items one file keeps */
};

/*
 * Save a run as last/<profile>.json and merge all runs there into verdict.json. `active`: it ran
 * active probes. A run that measured nothing clears nothing: items of the profile's earlier runs
 * are kept, under "kept", if their probe did not run this time (busy) or did not finish, and
 * fatal ones if they were not measured again. The fleet's opinion in verdict.json is kept. A file
 * that is unreadable, or from another node or machine, counts as absent.
 */
int verdict_file_keep(const struct report *report, const struct verdict *verdict, bool active,
		      struct err *err);

/*
 * Record in a new opinion when it expires in time since boot: {boot_id, until_s}. Then a jump of
 * the wall clock neither extends nor shortens it.
 */
void verdict_file_date_fleet(json_t *fleet, const struct clock_pair *now);

/*
 * Set the controller's opinion (borrowed; NULL: remove it) in verdict.json and keep the rest.
 * Before the first run, or if the file is invalid, write one with no items, an empty profile and
 * seq 0.
 */
int verdict_file_set_fleet(json_t *fleet, struct err *err);

/*
 * Can verdict.json be trusted? Only root, or the user we run as, may be able to write it; they
 * may edit it like any other file. -EACCES with what to do if others can write it
 * (lib/sys/writers.h); -ENOENT.
 */
int verdict_file_trusted(struct err *err);

/* Read verdict.json. -ENOENT if there is none, -EINVAL if it is invalid. */
int verdict_file_read(struct verdict *ret, struct err *err);

/*
 * Read the verdict of the last run of a profile, followed by the items that it keeps from earlier
 * runs. Negative if there is none that can be read, or only one of another machine than `machine`
 * (lib/sys/machine.h; NULL: any).
 */
int verdict_file_last(const char *profile, const char *machine, struct verdict *ret);

/*
 * Call `visit` for each run in last/; `name` is "last/quick.json" and `run` is borrowed.
 * Unreadable files are skipped. -ENOENT if nothing was ever run.
 */
int verdict_file_visit(void (*visit)(void *context, const char *name, const json_t *run),
		       void *context, struct err *err);

/* The object of `assay run -o json` and of last/<profile>.json. New reference. */
json_t *run_encode(const struct report *report, const struct verdict *verdict);
