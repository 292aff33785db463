/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the hosts of one job by the output of assay-rhythm on each (assay-rhythm/1, one file per
 * host): which have stopped, which have a different step time, which send less.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "lib/base/macro.h"

struct err;

enum {
	RHYTHM_HOSTS_MAX = 4096,
	RHYTHM_FILE_MAX = 1024 * 1024, /* bytes per file */
};

/*
 * Returns a new reference to {"format": "assay-rhythm-hosts/1", "hosts": [{"host" (the file's base
 * name without its suffix), "rate", "period_s", "still_s", "stopped", "differs": [texts]}],
 * "sentence"}. The numbers of a host are for its RNICs together. -EINVAL and others, naming the
 * file that is invalid.
 */
int rhythm_hosts_read(char *const *paths, size_t n, json_t **ret, struct err *err);

/* Print it as a table, hosts that differ first, followed by the sentence. */
void rhythm_hosts_table(const json_t *document, FILE *out, bool colour, unsigned width);
