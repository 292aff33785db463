# SPDX-License-Identifier: Apache-2.0
# lib/ring: what a communicator of a job says of its collectives: read, cut into steps. Included by Makefile.am.
noinst_LIBRARIES += libring.a
libring_a_SOURCES = lib/ring/ring_layout.h lib/ring/ring_op.h
RING_LIBS = libring.a
