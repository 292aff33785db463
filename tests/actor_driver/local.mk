# SPDX-License-Identifier: Apache-2.0
# tests/actor_driver: links the actor as the controller does, and simulates the cluster, the clock and the hosts. Included by Makefile.am.
if HAVE_SYSTEMD
if HAVE_SQLITE
if HAVE_MICROHTTPD
noinst_PROGRAMS += actor-driver
endif
endif
endif
actor_driver_SOURCES = tests/actor_driver/check.c tests/actor_driver/check.h tests/actor_driver/draw.h \
	tests/actor_driver/driver.h tests/actor_driver/driver_seam.c tests/actor_driver/driver_seam.h \
	tests/actor_driver/field.c tests/actor_driver/field.h tests/actor_driver/field_serve.c \
	tests/actor_driver/field_serve.h tests/actor_driver/host.c tests/actor_driver/host.h tests/actor_driver/life.c \
	tests/actor_driver/life.h tests/actor_driver/main.c tests/actor_driver/script.c tests/actor_driver/script.h \
	tests/actor_driver/trace.c tests/actor_driver/trace.h tests/actor_driver/world.c tests/actor_driver/world.h \
	tests/unit/random.h tests/unit/reports.c tests/unit/reports.h
actor_driver_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
actor_driver_LDADD = libcontroller.a $(JUDGE_LIBS) $(CONTROLLER_LIBS)
EXTRA_DIST += tests/actor_driver/run
