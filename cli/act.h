/* SPDX-License-Identifier: Apache-2.0 */
/* What orders to the controller have in common. */
#pragma once

/* Who asks, by the word of this host: for the records, where the token names nobody. NULL: nobody. */
const char *act_login_name(void);
