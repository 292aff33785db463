/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes index.html for browsers. @VERSION@ is replaced with the version of the files, so that
 * the address of a module is "@VERSION@/app.js"; and its import map is the only inline script that
 * the Content-Security-Policy allows:
 *
 *         <script type="importmap">{"imports": {"preact": "./@VERSION@/vendor/preact.mjs"}}</script>
 *
 * Pure.
 */
#pragma once

#include "lib/base/macro.h"

struct err;

#define PAGE_INDEX_MARK "@VERSION@"

/* `html` with the version filled in; new memory. -EFBIG with a sentence. */
int page_index_fill(const char *html, const char *version, char **ret, struct err *err);

/*
 * The policy for the output of page_index_fill(); new memory. -EINVAL with a sentence if it has
 * other inline scripts than one import map.
 */
int page_index_policy(const char *html, char **ret, struct err *err);
