/* What test_core_dynlib opens. LACKING leaves out a symbol. */
int fixture_answer(void);
int fixture_required(void);

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
