/*
 * Untrusted CSV and JSON (`assay analyze`, `assay compare`); the first byte chooses samples, pairs,
 * prices (`assay cost`), hyperfine's JSON, numbers a line, or a list of numbers.
 */
#include "fuzz.h"

#include <math.h>

#include "results/formats/csv_import.h"
#include "results/formats/price_sheet.h"

static void check_samples(const struct csv_samples *samples)
{
    FUZZ_REQUIRE(samples->series_count > 0);
    for (size_t i = 0; i < samples->series_count; i++) {
        FUZZ_REQUIRE(samples->series[i].name && samples->series[i].trial_count > 0);
        for (size_t k = 0; k < samples->series[i].trial_count; k++) {
            const struct csv_trial *trial = &samples->series[i].trials[k];

            FUZZ_REQUIRE(trial->name && trial->count > 0);
            for (size_t n = 0; n < trial->count; n++)
                FUZZ_REQUIRE(trial->sample_ns[n] > 0);
        }
    }
}

static void check_pairs(const struct csv_pairs *pairs)
{
    for (size_t i = 0; i < pairs->series_count; i++)
        for (size_t k = 0; k < pairs->series[i].count; k++) {
            FUZZ_REQUIRE(isfinite(pairs->series[i].a[k]) && pairs->series[i].a[k] > 0);
            FUZZ_REQUIRE(isfinite(pairs->series[i].b[k]) && pairs->series[i].b[k] > 0);
        }
}

static void check_prices(const json_t *sheet)
{
    size_t i;
    json_t *row;

    FUZZ_REQUIRE(json_string_length(json_object_get(sheet, "currency")) == 3);
    FUZZ_REQUIRE(json_array_size(json_object_get(sheet, "rows")) > 0);
    json_array_foreach(json_object_get(sheet, "rows"), i, row)
    {
        FUZZ_REQUIRE(json_number_value(json_object_get(row, "amount")) >= 0);
        FUZZ_REQUIRE(json_string_length(json_object_get(row, "item")) > 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = ERROR_INIT;
    struct csv_samples samples = {0};
    struct csv_pairs pairs = {0};
    const struct csv_columns in_ms = {.unit = "ms"};
    json_t *sheet = NULL;
    enum status status;
    FILE *file;

    if (size < 2)
        return 0;
    file = fmemopen((void *)(uintptr_t)(data + 1), size - 1, "r");
    if (!file)
        return 0;
    switch (data[0] % 8) {
    case 2:
    case 6:
        status = price_sheet_parse("input", (const char *)data + 1, size - 1, &sheet, &err);
        if (status == STATUS_OK)
            check_prices(sheet);
        json_decref(sheet);
        break;
    case 0:
        status = csv_import_pairs(file, "input", &pairs, &err);
        if (status == STATUS_OK)
            check_pairs(&pairs);
        csv_pairs_finish(&pairs);
        break;
    default:
        status = data[0] % 8 == 3 ? csv_import_json(file, "input", "ms", &samples, &err)
                 : data[0] % 8 == 5
                     ? csv_import_any(file, "input", &in_ms, &samples, &err)
                     : csv_import_samples(file, "input", data[0] % 8 == 4 ? &in_ms : NULL, &samples,
                                          &err);
        if (status == STATUS_OK)
            check_samples(&samples);
        csv_samples_finish(&samples);
    }
    if (status != STATUS_OK) {
        fuzz_require_good_message(&err, status);
        FUZZ_REQUIRE(!strncmp(err.message, "input", 5));
    }
    fclose(file);
    return 0;
}
