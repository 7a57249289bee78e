/* The main of a program of tests that has none of its own. */
#include "tests/support/unit.h"

int main(void)
{
    return unit_run(NULL, NULL);
}
