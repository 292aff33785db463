/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `assayd --check`: what the configuration alone does not tell. The controller is asked whether it
 * takes the reports of this host by its name and token. Nothing is changed by that: the call asks
 * for orders with a wait of "none", which gives none away (204); a controller of before refuses
 * it (400), after it has found that this host may ask.
 */
#pragma once

#include "lib/base/macro.h"

struct assayd_config;
struct err;

/* Tell in the log, one line each, by whom the token may be read: on this host, and on the way. */
void assayd_warn(const struct assayd_config *config);

#define ASSAYD_CHECK_TIMEOUT_US UINT64_C(10000000) /* for the whole question */

/*
 * Say on standard error, for --check, which settings come from the environment: a shell of
 * assayctl's has a token and a controller that are a person's.
 */
void assayd_check_environment(const struct assayd_config *config);

/*
 * 0: it takes them, or nobody could tell; `ret_said` (never NULL) is the sentence for people.
 * -EACCES: it refuses who we are or what we are called; -EKEYREJECTED, -EINVAL: our files or the
 * certificate of the controller are not good.
 */
int assayd_check(const struct assayd_config *config, struct err *ret_said, struct err *err);
