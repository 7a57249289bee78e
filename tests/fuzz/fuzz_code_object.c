/* Code objects as a compiler may give them: hostile ones are refused, the rest stays in bounds. */
#include "fuzz.h"

#include "backends/hip/code_object.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct code_object object = {0};
    struct error err = ERROR_INIT;
    enum status status = code_object_read(data, size, &object, &err);

    if (status != STATUS_OK) {
        FUZZ_REQUIRE(status == STATUS_CORRUPT && object.kernels == NULL);
        fuzz_require_good_message(&err, status);
        return 0;
    }
    FUZZ_REQUIRE(text_is_utf8(object.target, strlen(object.target)));
    for (size_t i = 0; i < object.kernel_count; i++) {
        FUZZ_REQUIRE(memchr(object.kernels[i].name, '\0', CODE_OBJECT_NAME_MAX) != NULL);
        FUZZ_REQUIRE(object.kernels[i].vgprs >= -1 && object.kernels[i].private_bytes >= -1);
    }
    code_object_finish(&object);
    return 0;
}
