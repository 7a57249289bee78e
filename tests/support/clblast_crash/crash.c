/*
 * A library with CLBlast's names: fp32 ends the process, fp64 is reported as missing. Linked
 * with the OpenCL loader, as CLBlast is, so that the backend takes it.
 */
#include <stdlib.h>

int CLBlastSgemm(void);
int CLBlastDgemm(void);
int CLBlastSgemmBatched(void);
int CLBlastDgemmBatched(void);
int CLBlastSGemmTempBufferSize(void);
int CLBlastDGemmTempBufferSize(void);

int CLBlastSgemm(void)
{
    abort();
}

int CLBlastDgemm(void)
{
    abort();
}

int CLBlastSgemmBatched(void)
{
    abort();
}

int CLBlastDgemmBatched(void)
{
    abort();
}

int CLBlastSGemmTempBufferSize(void)
{
    abort();
}

int CLBlastDGemmTempBufferSize(void)
{
    return -2044; /* CLBlastNoDoublePrecision */
}
