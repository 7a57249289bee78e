/* What test_core_dynlib and test_core_crash_context open. LACKING leaves out a symbol. */
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>

int fixture_answer(void);
int fixture_required(void);
void fixture_end(char how);

int fixture_answer(void)
{
    return 42;
}

#ifndef LACKING
int fixture_required(void)
{
    return 7;
}
#endif

/* As a vendor's function may: 's' crashes, 'a' aborts, 'x' exits, 't' is stopped. */
void fixture_end(char how)
{
    volatile int *volatile nowhere = NULL;

    if (how == 's')
        *nowhere = 0;
    if (how == 'a')
        raise(SIGABRT); /* else the compiler may move abort() to a part of the function without a
                           name */
    if (how == 'x')
        exit(3);
    if (how == 't')
        raise(SIGTERM);
    nowhere = NULL; /* a call at the end would be a tail call, without a frame */
}
