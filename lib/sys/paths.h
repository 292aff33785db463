/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where things are: each directory comes from an environment variable (read with secure_getenv),
 * else a default. A program in its build directory (with policies/profiles.yaml beside it) finds
 * policies, page and probes beside itself; one in a tree of `make install DESTDIR=` finds them in
 * that tree.
 */
#pragma once

#include "lib/base/macro.h"

/* All return new memory, never NULL; the caller frees it. */
char *paths_state(void);  /* ASSAY_STATE_DIR, /var/lib/assay */
char *paths_run(void);	  /* ASSAY_RUN_DIR, /run/assay */
char *paths_conf(void);	  /* ASSAY_CONF_DIR, /etc/assay */
char *paths_policy(void); /* ASSAY_POLICY_DIR, beside the program, $pkgdatadir/policies */
char *paths_page(void);	  /* ASSAY_PAGE_DIR, beside the program, $pkgdatadir/page */
char *paths_probes(void); /* ASSAY_PROBE_DIR, beside the program, $libexecdir/assay */

/* Where `assay` is: beside the program, or $bindir. No environment variable changes it. */
char *paths_programs(void);

/* Prefix of /sys and /proc (ASSAY_SYSROOT): "" on a real host. Borrowed. */
const char *paths_sysroot(void);

/* The kernel log: ASSAY_KMSG, /dev/kmsg under the sysroot. New memory, never NULL. */
char *paths_kmsg(void);

/* A descriptor for `path` ("/sys/...") under the sysroot, or a negative errno. */
int paths_open_sys(const char *path);
