/*
 * rival_decisions - what the re-implemented rules say of given series: for rivals_real.py.
 *
 * One JSON object a line on standard input: {"rule": NAME, "a": [...], "b": [...], "p": QUANTILE}
 * (b and p where the rule takes them); the decision as one JSON value a line on standard output.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "tests/calibration/rivals.h"

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The numbers of an array; NULL for none. */
static double *numbers_of(const json_t *array, size_t *ret_count)
{
    double *numbers = NULL;
    size_t i;

    *ret_count = json_array_size(array);
    if (*ret_count > 0)
        numbers = malloc(*ret_count * sizeof(*numbers));
    for (i = 0; numbers && i < *ret_count; i++)
        numbers[i] = json_number_value(json_array_get(array, i));
    return numbers;
}

static json_t *places_of(const double *x, size_t count)
{
    size_t *places = malloc((count + 1) * sizeof(*places)), found, i;
    json_t *array = json_array();

    if (!places)
        abort();
    found = rival_otava_changes(x, count, places);
    for (i = 0; i < found; i++)
        json_array_append_new(array, json_integer((json_int_t)places[i]));
    free(places);
    return array;
}

/* NULL for a rule that is not known, or series that it cannot take. */
static json_t *decide(const char *rule, double *a, double *b, size_t count, double p)
{
    struct random random;
    double value;

    if (!strcmp(rule, "otava"))
        return places_of(a, count);
    if (!strcmp(rule, "stdrel"))
        return json_integer((json_int_t)rival_stdrel_stop(a, count));
    if (!strcmp(rule, "mlperf")) {
        qsort(a, count, sizeof(*a), compare);
        return rival_mlperf_estimate(a, count, p, &value) ? json_real(value) : json_null();
    }
    if (!b)
        return NULL;
    if (!strcmp(rule, "pyperf"))
        return json_boolean(rival_pyperf_differs(a, b, count));
    if (!strcmp(rule, "nvbench"))
        return json_boolean(rival_nvbench_differs(a, b, count));
    if (!strcmp(rule, "criterion")) {
        random_init(&random, 1, count);
        return json_boolean(rival_criterion_differs(a, b, count, &random));
    }
    return NULL;
}

int main(void)
{
    json_error_t error;
    json_t *question;

    while ((question = json_loadf(stdin, JSON_DISABLE_EOF_CHECK, &error))) {
        const char *rule = json_string_value(json_object_get(question, "rule"));
        size_t count, count_b;
        double *a = numbers_of(json_object_get(question, "a"), &count);
        double *b = numbers_of(json_object_get(question, "b"), &count_b);
        json_t *answer = NULL;

        if (rule && a && count > 1 && (!b || count_b == count))
            answer = decide(rule, a, b, count, json_number_value(json_object_get(question, "p")));
        if (!answer)
            fprintf(stderr, "rival_decisions: %s: no such rule, or no such series\n",
                    rule ? rule : "?");
        else
            json_dumpf(answer, stdout, JSON_ENCODE_ANY | JSON_COMPACT);
        putchar('\n');
        fflush(stdout);
        free(a);
        free(b);
        json_decref(question);
        json_decref(answer);
        if (!answer)
            return 2;
    }
    return 0;
}
