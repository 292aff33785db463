/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the settings share. */
#pragma once

#include "controller/config/settings.h"
#include "lib/base/macro.h"

struct err;
struct jval;

/* Of J_CUSTOM: the section `kubernetes`, into a struct settings_kube. */
int settings_decode_kube(const struct jval *v, void *member, struct err *err);
void settings_kube_release(struct settings_kube *kube);
bool settings_kube_same(const struct settings_kube *a, const struct settings_kube *b);

/* The same for the section `collectives`. */
struct settings_collectives settings_collectives_init(void);
int settings_decode_collectives(const struct jval *v, void *member, struct err *err);
void settings_collectives_release(struct settings_collectives *c);
