/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts of one job against each other, from what assay-rhythm printed on each (assay-rhythm/1, a
 * file a host): who has stopped and who has not, who has another step, who sends less.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "lib/base/macro.h"

struct err;

enum {
	RHYTHM_HOSTS_MAX = 4096,
	RHYTHM_FILE_MAX = 1024 * 1024, /* bytes */
};

/*
 * {"format": "assay-rhythm-hosts/1", "hosts": [{"host" (the file's name without its end), "rate",
 * "period_s", "still_s", "stopped", "differs": [texts]}], "sentence"}, new reference. The numbers
 * of a host are those of its RNICs together. -EINVAL and others, with the file that is none.
 */
int rhythm_hosts_read(char *const *paths, size_t n, json_t **ret, struct err *err);

/* As a table, those that differ first, and the sentence. */
void rhythm_hosts_table(const json_t *document, FILE *out, bool colour, unsigned width);
