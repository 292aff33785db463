# SPDX-License-Identifier: Apache-2.0
# tests/guest: Debian's kernel with Soft-RoCE under emulation. Included by Makefile.am.
EXTRA_DIST += tests/guest/guest.py tests/guest/image.py tests/guest/init tests/guest/lib.sh tests/guest/newc.py \
	tests/guest/run tests/guest/scenarios/all-reduce.sh tests/guest/scenarios/all-to-all.sh \
	tests/guest/scenarios/bench.sh tests/guest/scenarios/bench-two.sh tests/guest/scenarios/fleet.sh \
	tests/guest/scenarios/loopback.sh tests/guest/scenarios/pair.sh tests/guest/scenarios/pair-two.sh \
	tests/guest/scenarios/perftest.sh tests/guest/scenarios/state.sh tests/guest/scenarios/watch.sh

# Replays the rounds with the output of probes in guests.
check_PROGRAMS += tests/guest/pairing_rounds
tests_guest_pairing_rounds_LDADD = $(PAIRING_LIBS) $(CORE_LIBS)
