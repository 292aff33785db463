# SPDX-License-Identifier: Apache-2.0
# lib: libraries with files in several directories of lib/. Included by Makefile.am.
noinst_LIBRARIES += libassay.a
libassay_a_SOURCES =

# YAML is a library of its own, so that daemons that do not read it do not link it.
noinst_LIBRARIES += libyamlread.a
libyamlread_a_SOURCES =

# Linked by programs, after their own libraries: CORE_LIBS has no YAML.
CORE_LIBS = libassay.a $(JANSSON_LIBS) -lm
BASE_LIBS = libyamlread.a $(YAML_LIBS) $(CORE_LIBS)
noinst_LIBRARIES += libtopology.a
libtopology_a_SOURCES =
libtopology_a_CFLAGS = $(AM_CFLAGS)
if HAVE_HWLOC
libtopology_a_CFLAGS += $(HWLOC_CFLAGS)
TOPOLOGY_LIBS = libtopology.a $(HWLOC_LIBS)
else
TOPOLOGY_LIBS = libtopology.a
endif
noinst_LIBRARIES += libjudge.a
libjudge_a_SOURCES =
JUDGE_LIBS = libjudge.a
