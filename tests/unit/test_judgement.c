#include "results/analysis/judgement.h"

#include <string.h>

#include "tests/support/unit.h"

static const struct judgement *const kinds[] = {
    &judgement_ab,      &judgement_accept, &judgement_baseline,  &judgement_calibration,
    &judgement_compare, &judgement_cost,   &judgement_decide,    &judgement_fleet,
    &judgement_gate,    &judgement_plan,   &judgement_reproduce,
};

static bool says(const struct judgement *judgement, const char *body, const char *verdict)
{
    json_auto_t *json = json_loads(body, 0, NULL);

    assert_non_null(json);
    return judgement_says(judgement, json, verdict);
}

TEST(each_is_found_by_its_name)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        assert_ptr_equal(judgement_find(kinds[i]->name), kinds[i]);
        assert_non_null(kinds[i]->make);
        assert_true(kinds[i]->results <= 2);
        assert_true(!kinds[i]->subject || !strncmp(kinds[i]->subject, "$.", 2));
    }
    assert_null(judgement_find("verdict"));
    assert_null(judgement_find(NULL));
}

TEST(the_verdict_is_that_of_the_body)
{
    static const char gated[] = "{\"verdict\": \"slower\", \"gate\": {\"decision\": \"worse\"}}";
    static const char unknown[] =
        "{\"verdict\": null, \"comparability\": {\"verdict\": \"not_comparable\"}}";

    assert_true(says(&judgement_accept, "{\"verdict\": \"rejected\"}", "rejected"));
    assert_false(says(&judgement_accept, "{\"verdict\": \"rejected\"}", "accepted"));
    assert_false(says(&judgement_accept, "{}", "accept"));
    assert_true(says(&judgement_gate, gated, "worse"));
    assert_false(says(&judgement_gate, gated, "slower"));
    assert_true(says(&judgement_compare, gated, "slower"));
    assert_true(says(&judgement_compare, unknown, "not_comparable"));
    assert_false(says(&judgement_compare, unknown, "none"));
    assert_true(says(&judgement_cost, "{\"verdict\": \"cheap\"}", "cost"));
    assert_false(says(&judgement_cost, "{\"verdict\": \"cheap\"}", "cheap"));
}

TEST(some_are_recorded_with_others)
{
    static const char unknown[] = "{\"comparability\": {\"verdict\": \"comparable\"}}";

    assert_true(says(&judgement_ab, unknown, "comparable"));
    assert_true(says(&judgement_ab, unknown, "none"));
    assert_false(says(&judgement_ab, "{\"verdict\": \"faster\"}", "none"));
    assert_false(says(&judgement_ab, "{}", "none"));
    assert_true(says(&judgement_calibration, "{}", "done"));
    assert_true(says(&judgement_calibration, "{}", "interrupted"));
    assert_false(says(&judgement_calibration, "{}", "calibration"));
}
