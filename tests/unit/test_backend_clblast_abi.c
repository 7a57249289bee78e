/*
 * Our declarations of CLBlast against the real header: the constants and codes when this runs, the
 * functions' types when it is compiled. Without the header (libclblast-dev) this is skipped.
 */
#include "backends/opencl/clblast.h"

#include <stdio.h>

#if __has_include(<clblast_c.h>) && __has_include(<CL/cl.h>)

#define CL_TARGET_OPENCL_VERSION 120
#include <clblast_c.h>

int main(void)
{
    struct clblast_api api;
    int failures = 0, checks = 0;

#define SAME(name, value)                                                                          \
    checks++;                                                                                      \
    if ((int)CLBlast##name != (int)CLBLAST_##name) {                                               \
        failures++;                                                                                \
        printf("FAIL CLBlast" #name " is %d in the header\n", (int)CLBlast##name);                 \
    }
    CLBLAST_ERROR_MAP(SAME)
    CLBLAST_CONSTANT_MAP(SAME)
#undef SAME
#define ASSIGN(result, name, parameters)                                                           \
    checks++;                                                                                      \
    api.name = (__typeof__(&name))NULL; /* a warning where the types differ */                     \
    failures += api.name != NULL;
    CLBLAST_FUNCTION_MAP(ASSIGN)
#undef ASSIGN
    printf("%d declarations checked, %d differ\n", checks, failures);
    return failures == 0 && checks > 20 ? 0 : 1;
}

#else

int main(void)
{
    printf("SKIP: <clblast_c.h> is not installed (Debian package libclblast-dev)\n");
    return 77;
}

#endif
