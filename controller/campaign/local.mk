# SPDX-License-Identifier: Apache-2.0
# Rounds of collective tests between hosts: included by Makefile.am. Pure; a library of its own.
noinst_LIBRARIES += libcampaign.a
libcampaign_a_SOURCES = \
	controller/campaign/campaign.c controller/campaign/campaign.h controller/campaign/campaign_inside.h \
	controller/campaign/campaign_json.c controller/campaign/campaign_keep.c controller/campaign/campaign_life.c controller/campaign/campaign_says.c controller/campaign/campaign_side.c
CAMPAIGN_LIBS = libcampaign.a $(PAIRING_LIBS)
CAMPAIGN_LAB = tests/unit/campaign_lab.c tests/unit/campaign_lab.h tests/unit/random.h tests/unit/reports.c tests/unit/reports.h
UNIT_TESTS += tests/unit/test_campaign tests/unit/test_campaign_keep tests/unit/test_campaign_random tests/unit/test_campaign_says
tests_unit_test_campaign_SOURCES = tests/unit/test_campaign.c $(CAMPAIGN_LAB)
tests_unit_test_campaign_LDADD = $(CAMPAIGN_LIBS) $(LDADD)
tests_unit_test_campaign_keep_SOURCES = tests/unit/test_campaign_keep.c $(CAMPAIGN_LAB)
tests_unit_test_campaign_keep_LDADD = $(CAMPAIGN_LIBS) $(LDADD)
tests_unit_test_campaign_says_SOURCES = tests/unit/test_campaign_says.c $(CAMPAIGN_LAB)
tests_unit_test_campaign_says_LDADD = $(CAMPAIGN_LIBS) $(LDADD)
tests_unit_test_campaign_random_SOURCES = tests/unit/test_campaign_random.c $(CAMPAIGN_LAB)
tests_unit_test_campaign_random_LDADD = $(CAMPAIGN_LIBS) $(LDADD)
