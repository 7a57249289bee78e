/*
 * call - what the program `assay` does, by a process of its own: measuring, since a measurement
 * records the program that made it and shares its process with nobody, and every other command.
 */
#ifndef ASSAY_CALL_H
#define ASSAY_CALL_H

#include <stdbool.h>
#include <stddef.h>

#include <assay/error.h>

#ifdef __cplusplus
extern "C" {
#endif

struct assay_call_options {
    size_t size;
    const char *program; /* file of assay; NULL: `assay`, from PATH */
    void *context;       /* of `progress` */
    /*
     * Called with each line for people that the program writes, as "[3/40] triad fp32 on cpu:0",
     * and with NULL five times a second; NULL: never. False stops it as Ctrl-C does.
     */
    bool (*progress)(void *context, const char *line);
};
#define ASSAY_CALL_OPTIONS_INIT                                                                    \
    {                                                                                              \
        sizeof(struct assay_call_options), NULL, NULL, NULL                                        \
    }

/*
 * Runs a command with `--json`, as {"run", "triad", "--device", "cpu:0", "--db", "results.db",
 * NULL}, and returns when it has ended. `ret`: its data as JSON, as `assay schema show COMMAND`
 * describes it (of `run` the member "campaign" names what was measured), also after a failure;
 * NULL: it has none. Free with assay_free.
 *
 * OK, and else the status and message of the program's first error: INVALID, NOT_FOUND,
 * UNAVAILABLE ...; of `run` how the first trial failed, or INTERRUPTED, when what was measured is
 * kept. UNAVAILABLE: there is no such program; PROTOCOL: it is not assay, or was killed.
 */
enum assay_status assay_call(const char *const *words, const struct assay_call_options *options,
                             char **ret);

#ifdef __cplusplus
}
#endif

#endif
