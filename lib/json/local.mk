# SPDX-License-Identifier: Apache-2.0
# lib/json: JSON: one table is decoder, encoder and error message; YAML; the fast reader. Included by Makefile.am.
libassay_a_SOURCES += lib/json/jmemo.c lib/json/jmemo.h lib/json/jread.c lib/json/jread.h lib/json/jscan.c \
	lib/json/jscan.h lib/json/jscan_number.c lib/json/jscan_string.c lib/json/jsome.c lib/json/jsome.h lib/json/json.c \
	lib/json/json.h lib/json/jval.c lib/json/kv.c lib/json/kv.h lib/json/swar.h
libyamlread_a_SOURCES += lib/json/yaml.c
