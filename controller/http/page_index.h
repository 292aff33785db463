/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index.html on its way to the browser. Where it says @VERSION@ stands the version of the files,
 * so that a module's address is "@VERSION@/app.js"; and what it has as its import map is the only
 * script within it that the Content-Security-Policy lets run:
 *
 *	<script type="importmap">{"imports": {"preact": "./@VERSION@/vendor/preact.mjs"}}</script>
 *
 * Pure.
 */
#pragma once

#include "lib/base/macro.h"

struct err;

#define PAGE_INDEX_MARK "@VERSION@"

/* `html` with the version in it; new memory. -EFBIG with a sentence. */
int page_index_fill(const char *html, const char *version, char **ret, struct err *err);

/*
 * The policy for what page_index_fill() made; new memory. -EINVAL with a sentence: it has scripts
 * in itself that are no import map, or two of those.
 */
int page_index_policy(const char *html, char **ret, struct err *err);
