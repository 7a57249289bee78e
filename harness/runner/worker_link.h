/* worker_link - the worker's end of the worker protocol: sending, and waiting for go. */
#ifndef ASSAY_RUNNER_WORKER_LINK_H
#define ASSAY_RUNNER_WORKER_LINK_H

#include <stdint.h>

#include "backends/backend.h"
#include "harness/core/status.h"
#include "harness/runner/channel.h"
#include "harness/runner/message.h"
#include "workloads/workload.h"

#define WORKER_READ_FD 3
#define WORKER_WRITE_FD 4

struct worker_link {
    struct channel channel;
};

/* Takes descriptors 3 and 4, says hello and waits for the trial; `ret` is to be finished. */
enum status worker_link_open(struct worker_link *link, struct message *ret, struct error *err);
void worker_link_close(struct worker_link *link);

enum status worker_link_send(struct worker_link *link, const struct message *message,
                             struct error *err);
/* The same of a type that has an object, which it drops; NULL is NO_MEMORY. */
enum status worker_link_send_body(struct worker_link *link, enum message_type type, json_t *body,
                                  struct error *err);

/* With the files of the device and of the case's kind. */
enum status worker_link_send_device(struct worker_link *link, const struct device *device,
                                    uint32_t index, const struct workload_case *work,
                                    struct error *err);
enum status worker_link_send_artifact(struct worker_link *link,
                                      const struct module_artifact *artifact, struct error *err);
enum status worker_link_send_check(struct worker_link *link, const char *phase,
                                   const struct workload_check *check, struct error *err);

/* Sends values [first, count) in chunks that fit a line. */
enum status worker_link_send_samples(struct worker_link *link, const char *series,
                                     const int64_t *values, size_t first, size_t count,
                                     struct error *err);

/* Reports to the harness that `at` is reached. */
enum status worker_link_sync(struct worker_link *link, const char *at, struct error *err);

/*
 * The harness's word where the worker waits, go or spot_check; `ret` is to be finished. With `wait`
 * false only what is there already: TIMEOUT when there is nothing.
 */
enum status worker_link_hear(struct worker_link *link, bool wait, struct message *ret,
                             struct error *err);
/* A samples message of the schedule; `ret` is to be finished. */
enum status worker_link_hear_samples(struct worker_link *link, struct message *ret,
                                     struct error *err);

#endif
