/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The web page, part of the settings:
 *
 *	page: true
 *	page: {role: operate}
 *	page: {role: operate, proxy: {...}}        (controller/auth/page_proxy.h)
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
	int role; /* enum role: the most that a session may, whatever its token may */
	struct page_proxy proxy;
};

/* Off; read. Release it. */
struct settings_page settings_page_init(void);
void settings_page_release(struct settings_page *page);

/* Of J_CUSTOM, the member is the struct settings_page. */
int settings_page_decode(const struct jval *v, void *member, struct err *err);
