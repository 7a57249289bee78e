/*
 * Contracts, decisions and sheets of declared peaks, which are read from files. Whatever the bytes,
 * each reader refuses them with a good message that names the file, or gives what can be used.
 */
#include "fuzz.h"

#include <unistd.h>

#include "harness/core/canonical.h"
#include "protocols/contract.h"
#include "protocols/decision.h"
#include "results/formats/peak_sheet.h"

static char folder[] = "/tmp/assay-fuzz-XXXXXX";
static char path[sizeof(folder) + sizeof("/input")];

static void remove_file(void)
{
    unlink(path);
    rmdir(folder);
}

static void write_file(const uint8_t *data, size_t size)
{
    FILE *file;

    if (!path[0]) {
        FUZZ_REQUIRE(mkdtemp(folder) != NULL);
        snprintf(path, sizeof(path), "%s/input", folder);
        atexit(remove_file);
    }
    file = fopen(path, "wb");
    FUZZ_REQUIRE(file && fwrite(data, 1, size, file) == size && fclose(file) == 0);
}

static void require_refused(const struct error *err, enum status status)
{
    fuzz_require_good_message(err, status);
    FUZZ_REQUIRE(!strncmp(err->message, path, strlen(path)));
}

static void check_contract(void)
{
    struct error err = ERROR_INIT;
    struct contract contract = {.json = NULL};
    enum status status = contract_load(path, &contract, &err);
    struct contract_item item;
    json_t *power = NULL;

    if (status != STATUS_OK) {
        require_refused(&err, status);
        return;
    }
    for (size_t i = 0; i < json_array_size(json_object_get(contract.json, "items")); i++)
        FUZZ_REQUIRE(contract_item_read(contract.json, i, NULL, &item, &err) == STATUS_OK);
    status = contract_power(&contract, 0.01, &power, &err);
    if (status != STATUS_OK) {
        contract_locate(&contract, &err);
        require_refused(&err, status);
    }
    json_decref(power);
    contract_finish(&contract);
}

static void check_decision(void)
{
    struct error err = ERROR_INIT;
    struct decision decision = {.json = NULL};
    enum status status = decision_load(path, &decision, &err);
    struct digest again;
    size_t options;

    if (status != STATUS_OK) {
        require_refused(&err, status);
        return;
    }
    options = json_array_size(json_object_get(decision.json, "options"));
    FUZZ_REQUIRE(options >= 2 && options <= DECISION_OPTIONS_MAX);
    FUZZ_REQUIRE(canonical_digest(decision.json, &again, &err) == STATUS_OK);
    FUZZ_REQUIRE(digest_equal(&decision.digest, &again));
    decision_finish(&decision);
}

static void check_peaks(void)
{
    struct error err = ERROR_INIT;
    json_t *sheet = NULL, *row;
    enum status status = peak_sheet_read(path, &sheet, &err);
    size_t i;

    if (status != STATUS_OK)
        require_refused(&err, status);
    else
        json_array_foreach(json_object_get(sheet, "rows"), i, row)
            FUZZ_REQUIRE(json_number_value(json_object_get(row, "peak")) > 0);
    json_decref(sheet);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    write_file(data, size);
    check_contract();
    check_decision();
    check_peaks();
    return 0;
}
