/* Untrusted CSV (`assay analyze`, `assay compare`); the first byte chooses samples,
 * pairs or prices (`assay cost`). */
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
    enum status status;
    FILE *file;

    if (size < 2)
        return 0;
    file = fmemopen((void *)(uintptr_t)(data + 1), size - 1, "r");
    if (!file)
        return 0;
    if (data[0] % 4 == 2) {
        json_t *sheet = NULL;

        status = price_sheet_parse("input", (const char *)data + 1, size - 1, &sheet, &err);
        if (status == STATUS_OK)
            check_prices(sheet);
        json_decref(sheet);
    } else if (data[0] % 2) {
        status = csv_import_samples(file, "input", NULL, &samples, &err);
        if (status == STATUS_OK)
            check_samples(&samples);
        csv_samples_finish(&samples);
    } else {
        status = csv_import_pairs(file, "input", &pairs, &err);
        if (status == STATUS_OK)
            check_pairs(&pairs);
        csv_pairs_finish(&pairs);
    }
    if (status != STATUS_OK) {
        fuzz_require_good_message(&err, status);
        FUZZ_REQUIRE(!strncmp(err.message, "input", 5));
    }
    fclose(file);
    return 0;
}
