/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of agents/assayd/link_watch.h share. */
#pragma once

#include "agents/assayd/link_watch.h"

/* In rising order of weight; those from WORD_GONE on are about the device. */
enum link_word { WORD_GOOD, WORD_OFF, WORD_DOWN, WORD_LONG, WORD_GONE, WORD_LOST };

enum flap_word { FLAPS_NONE, FLAPS_SOME, FLAPS_MANY };

enum link_word link_word(const struct link_port *port, uint64_t now_us);

/* How many within the window that ends now. */
size_t link_flaps(const struct link_port *port, uint64_t now_us);
enum flap_word link_flap_word(size_t flaps);
