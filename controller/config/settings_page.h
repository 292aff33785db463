/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The web page, part of the settings:
 *
 *         page: true
 *         page: {role: operate}
 *         page: {role: operate, proxy: {...}}        (controller/auth/page_proxy.h)
 *
 * Pure.
 */
#pragma once

#include "controller/auth/page_proxy.h"
#include "lib/base/macro.h"

struct err;
struct jval;

struct settings_page {
	bool on;
	int role; /* enum role: upper limit of sessions, whatever their tokens allow */
	struct page_proxy proxy;
};

/* Returns the defaults: off, role read. The caller releases them. */
struct settings_page settings_page_init(void);
void settings_page_release(struct settings_page *page);

/* For J_CUSTOM, the member is the struct settings_page. */
int settings_page_decode(const struct jval *v, void *member, struct err *err);
