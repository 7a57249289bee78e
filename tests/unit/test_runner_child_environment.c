#include <stddef.h>
#include <stdint.h>

#include <stdlib.h>
#include <string.h>

#include "harness/core/process.h"
#include "harness/runner/child_environment.h"
#include "harness/runner/environment.h"
#include "tests/support/unit.h"

static const char *value_of(char *const *list, const char *name)
{
    const char *found = NULL;
    size_t length = strlen(name);

    for (; *list; list++) {
        if (strncmp(*list, name, length) || (*list)[length] != '=')
            continue;
        assert_null(found); /* no name twice */
        found = *list + length + 1;
    }
    return found;
}

TEST(changes)
{
    char set[] = "ASSAY_T1=new", unset[] = "ASSAY_T2",
         added[] = "ASSAY_T3=", prefix[] = "ASSAY_T=x";
    char *changes[] = {set, unset, added, prefix, NULL};
    char **list;

    setenv("ASSAY_T1", "old", 1);
    setenv("ASSAY_T2", "gone", 1);
    assert_int_equal(child_environment_build(changes, &list, NULL), STATUS_OK);
    assert_string_equal(value_of(list, "ASSAY_T1"), "new");
    assert_null(value_of(list, "ASSAY_T2"));
    assert_string_equal(value_of(list, "ASSAY_T3"), "");
    assert_string_equal(value_of(list, "ASSAY_T"), "x");
    assert_string_equal(value_of(list, "ASSAY_WORKER_PROTOCOL"), "2");
    process_free_words(list);
    assert_int_equal(child_environment_build(NULL, &list, NULL), STATUS_OK);
    assert_string_equal(value_of(list, "ASSAY_T2"), "gone");
    process_free_words(list);
    process_free_words(NULL);
}

TEST(defaults)
{
    static const char *const defaults[] = {"ASSAY_T1=default", "ASSAY_T4=default",
                                           "ASSAY_T5=default"};
    char unset[] = "ASSAY_T5";
    char *changes[] = {unset, NULL};
    char **list;

    setenv("ASSAY_T1", "mine", 1);
    unsetenv("ASSAY_T4");
    setenv("ASSAY_T5", "gone", 1);
    assert_int_equal(child_environment_build(changes, &list, NULL), STATUS_OK);
    assert_int_equal(child_environment_add_defaults(changes, defaults, 3, &list, NULL), STATUS_OK);
    assert_string_equal(value_of(list, "ASSAY_T1"), "mine");
    assert_string_equal(value_of(list, "ASSAY_T4"), "default");
    assert_null(value_of(list, "ASSAY_T5"));
    process_free_words(list);
}

TEST(relevant)
{
    assert_true(environment_is_relevant("POCL_MAX_PTHREAD_COUNT=2"));
    assert_true(environment_is_relevant("LD_PRELOAD=/x"));
    assert_true(environment_is_relevant("OMP_NUM_THREADS"));
    assert_true(environment_is_relevant("AMD_SERIALIZE_KERNEL=3"));
    assert_true(environment_is_relevant("ROCBLAS_TENSILE_LIBPATH=/x"));
    assert_true(environment_is_relevant("HIPBLASLT_TENSILE_LIBPATH=/x"));
    assert_true(environment_is_relevant("ROC_AQL_QUEUE_SIZE=1024"));
    assert_true(environment_is_relevant("TORCHINDUCTOR_MAX_AUTOTUNE=1"));
    assert_true(environment_is_relevant("ORT_TENSORRT_FP16_ENABLE=1"));
    assert_true(environment_is_relevant("PYTHONPATH=/x"));
    assert_false(environment_is_relevant("TORCHES=1"));
    assert_false(environment_is_relevant("PYTORCH_TOKEN=x"));
    assert_true(environment_is_relevant("DEBUG_CLR_MAX_BATCH_SIZE=1"));
    assert_true(environment_is_relevant("CL_CONFIG_CPU_VECTORIZER_MODE=1"));
    assert_false(environment_is_relevant("ROCKET=1"));
    assert_false(environment_is_relevant("LD_PRELOADED=1"));
    assert_false(environment_is_relevant("HOME=/root"));
    assert_false(environment_is_relevant("AWS_SECRET_ACCESS_KEY=x"));
    assert_false(environment_is_relevant("="));
    /* Of a vendor, but secret. */
    assert_false(environment_is_relevant("NVIDIA_API_KEY=nvapi-x"));
    assert_false(environment_is_relevant("AMD_Auth_Token=x"));
    assert_false(environment_is_relevant("GPU_CLOUD_PASSWORD=x"));
    assert_true(environment_is_relevant("ASSAY_KEY=/home/x/lab.key"));
    assert_true(environment_is_relevant("CUDA_KEYED_LAUNCH=1"));
    assert_true(environment_is_relevant("OMP_NUM_THREADS=KEY"));
}

TEST(readings)
{
    json_t *fixed, *moving;

    setenv("POCL_TEST", "bad \x1b[31m \xff bytes", 1);
    assert_int_equal(environment_read_fixed(&fixed, NULL), STATUS_OK);
    assert_int_equal(environment_read_moving(&moving, NULL), STATUS_OK);
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(fixed, "variable.POCL_TEST"), "value")),
        "bad \\x1B[31m \\xFF bytes");
    assert_non_null(json_object_get(fixed, "host.cpu.model"));
    assert_non_null(json_object_get(fixed, "host.kernel.release"));
    assert_non_null(json_object_get(moving, "load.average_1min"));
    json_decref(fixed);
    json_decref(moving);
}
