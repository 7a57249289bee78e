#include "harness/runner/handover.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/core/canonical.h"
#include "harness/core/cleanup.h"
#include "harness/core/clock.h"
#include "harness/core/file.h"
#include "harness/core/random.h"
#include "harness/core/tensors.h"
#include "harness/core/text.h"
#include "harness/runner/trial.h"
#include "harness/runner/worker_process.h"

#define STOP_GRACE_NS ((int64_t)2000000000)
#define SEND_NS ((int64_t)10000000000)
#define FILES_VERSION 1 /* of what the generator writes */
#define SECRET_SIZE 17

/* ---- assay's own worker, for one task ---- */

struct call {
    const struct trial_request *request;
    json_t *trial; /* the request's, with the task */
    handover_check_fn *check;
    void *context;
    bool over;
};

static enum status listen_once(struct worker_process *worker, struct call *call, struct error *err)
{
    CLEANUP(message_finish) struct message message = {0};
    char *line;
    size_t length;
    enum status status =
        channel_read_line(&worker->channel, clock_monotonic_ns() + call->request->silence_ns,
                          call->request->wake_fd, &line, &length, err);

    worker_process_forget_words(worker);
    if (status == STATUS_NOT_FOUND)
        return error_set(err, STATUS_CRASHED,
                         "the process that compares outputs exited before sending a result");
    TRY(status);
    TRY(message_parse(line, length, &message, err));
    if (message.type == MESSAGE_HELLO)
        return message_send(&worker->channel, &(struct message){MESSAGE_TRIAL, .body = call->trial},
                            clock_monotonic_ns() + SEND_NS, err);
    if (message.type == MESSAGE_CHECK && call->check)
        return call->check(call->context, &message, err);
    call->over = message.type == MESSAGE_HANDED_OVER || message.type == MESSAGE_END;
    return message.type == MESSAGE_END ? error_set(err, message.end.status, "%s",
                                                   message.end.message ? message.end.message : "")
                                       : STATUS_OK;
}

static enum status run_task(struct call *call, json_t *task, struct error *err)
{
    const struct worker_start start = {.own = true};
    json_auto_t *trial = json_copy((json_t *)call->request->message);
    struct worker_process worker;
    struct process_exit exit;
    enum status status = STATUS_OK;

    if (json_object_set_new(trial, "hand_over", task) < 0)
        status = error_no_memory(err);
    json_object_del(trial, "framework");
    call->trial = trial;
    worker_process_init(&worker);
    if (status == STATUS_OK)
        status = worker_process_start(&worker, &start, err);
    while (status == STATUS_OK && !call->over)
        status = listen_once(&worker, call, err);
    if (worker.process.pid != 0 &&
        (!call->over ||
         process_wait(&worker.process, clock_monotonic_ns() + SEND_NS, &exit, NULL) != STATUS_OK))
        process_stop(&worker.process, STOP_GRACE_NS, &exit);
    worker_process_finish(&worker);
    return status;
}

/* ---- the files ---- */

static const char *secret_text(uint64_t secret, char ret[SECRET_SIZE])
{
    snprintf(ret, SECRET_SIZE, "%016" PRIx64, secret);
    return ret;
}

static uint64_t draw(void)
{
    char bits[65], word[SECRET_SIZE];

    random_identifier(bits);
    snprintf(word, sizeof(word), "%.16s", bits);
    return strtoull(word, NULL, 16);
}

/* Where the file of a case is kept, by what it follows from; NULL: nowhere. */
static char *cached_path(const struct trial_request *request)
{
    static const char *const keys[] = {"workload", "precision", "batch", "seed"};
    AUTO_FREE char *folder = file_in_cache("handover");
    json_t *identity = json_pack("{s:i}", "files", FILES_VERSION);
    char hex[DIGEST_HEX_SIZE], *path = NULL;
    struct digest digest;

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        json_object_set(identity, keys[i], json_object_get(request->message, keys[i]));
    if (folder && canonical_digest(identity, &digest, NULL) == STATUS_OK &&
        file_make_directories(folder, 0700, NULL) == STATUS_OK)
        path = text_format("%s/%s.safetensors", folder, digest_hex(&digest, hex));
    json_decref(identity);
    return path;
}

/* Whether the file is the one that was written, by the digest stored in a second file. */
static bool is_whole(const char *path, struct digest *ret)
{
    char *beside = text_format("%s.sha256", path), *line = NULL;
    struct digest wanted;
    const bool whole = beside && file_read_line(beside, &line, NULL) == STATUS_OK &&
                       digest_from_hex(line, &wanted) &&
                       digest_file(path, ret, NULL, NULL) == STATUS_OK &&
                       digest_equal(ret, &wanted);

    free(line);
    free(beside);
    return whole;
}

/* Renames the file written at `from` to its name, read-only; a second file has its digest. */
static enum status keep(struct handover *handover, const char *from, struct error *err)
{
    char hex[DIGEST_HEX_SIZE];
    AUTO_FREE char *beside = text_format("%s.sha256", handover->file);

    TRY(beside ? digest_file(from, &handover->digest, NULL, err) : error_no_memory(err));
    if (chmod(from, 0444) < 0 || rename(from, handover->file) < 0)
        return error_set_errno(err, errno, "%s", handover->file);
    return file_write_atomic(beside, digest_hex(&handover->digest, hex), DIGEST_HEX_SIZE - 1, 0444,
                             err);
}

static json_t *task_of(const struct handover *handover, const char *first)
{
    char text[SECRET_SIZE];
    json_t *files = json_array();

    if (first)
        json_array_append_new(files, json_pack("{s:s}", "path", first));
    for (int64_t i = 0; i < handover->capacity; i++) {
        char *path = text_format("%s/inputs.%" PRId64, handover->folder, i);

        json_array_append_new(files, json_pack("{s:s, s:s}", "path", path ? path : "", "secret",
                                               secret_text(handover->secrets[i], text)));
        free(path);
    }
    return json_pack("{s:o}", "write", files);
}

/* Takes the names from the inputs: the worker learns of each when it is to take it. */
static enum status take_inputs(struct handover *handover, struct error *err)
{
    for (int64_t i = 0; i < handover->capacity; i++) {
        AUTO_FREE char *path = text_format("%s/inputs.%" PRId64, handover->folder, i);

        handover->inputs[i] = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        if (handover->inputs[i] < 0)
            return error_set_errno(err, errno, "the inputs of a check");
        unlink(path);
    }
    return STATUS_OK;
}

static enum status prepare(struct handover *handover, const struct protocol *protocol,
                           struct error *err)
{
    const char *temporary = getenv("TMPDIR");

    handover->capacity = protocol->spot_checks + 2;
    handover->inputs = calloc((size_t)handover->capacity, sizeof(*handover->inputs));
    handover->secrets = calloc((size_t)handover->capacity, sizeof(*handover->secrets));
    handover->entries = calloc((size_t)handover->capacity, sizeof(*handover->entries));
    handover->folder = text_format("%s/assay-handover-XXXXXX",
                                   temporary && *temporary == '/' ? temporary : "/tmp");
    if (!handover->inputs || !handover->secrets || !handover->entries || !handover->folder)
        return error_no_memory(err);
    for (int64_t i = 0; i < handover->capacity; i++) {
        handover->inputs[i] = -1;
        handover->secrets[i] = draw();
    }
    if (!mkdtemp(handover->folder)) {
        const int code = errno;
        const enum status status = error_set_errno(err, code, "%s", handover->folder);

        free(handover->folder);
        handover->folder = NULL;
        return status;
    }
    return STATUS_OK;
}

static enum status write_files(struct handover *handover, const struct trial_request *request,
                               struct error *err)
{
    struct call call = {.request = request};
    CLEANUP(tensors_close) struct tensors tensors = {0};
    AUTO_FREE char *first = NULL;
    bool kept;
    enum status status;

    handover->file = cached_path(request);
    if (!handover->file)
        handover->file = text_format("%s/first.safetensors", handover->folder);
    first = handover->file ? text_format("%s.%d", handover->file, (int)getpid()) : NULL;
    if (!first)
        return error_no_memory(err);
    kept = is_whole(handover->file, &handover->digest);
    status = run_task(&call, task_of(handover, kept ? NULL : first), err);
    if (status == STATUS_OK && !kept)
        status = keep(handover, first, err);
    if (status != STATUS_OK && !kept)
        unlink(first);
    TRY(status);
    TRY(tensors_open(handover->file, &tensors, err));
    handover->tensors = tensors_json(&tensors);
    return take_inputs(handover, err);
}

enum status handover_begin(struct handover *handover, const struct trial_request *request,
                           const struct protocol *protocol, struct error *err)
{
    *handover = (struct handover){0};
    if (request->root || request->schedule)
        return error_set(err, STATUS_UNSUPPORTED,
                         "nothing is handed over to a server or into another root directory");
    TRY(prepare(handover, protocol, err));
    TRY(write_files(handover, request, err));
    handover->active = true;
    return STATUS_OK;
}

void handover_finish(struct handover *handover)
{
    DIR *folder = handover->folder ? opendir(handover->folder) : NULL;
    struct dirent *entry;

    while (folder && (entry = readdir(folder)))
        unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder)
        closedir(folder);
    if (handover->folder)
        rmdir(handover->folder);
    for (int64_t i = 0; i < handover->capacity && handover->inputs; i++)
        if (handover->inputs[i] >= 0)
            close(handover->inputs[i]);
    free(handover->folder);
    free(handover->file);
    free(handover->outputs);
    free(handover->inputs);
    free(handover->secrets);
    free(handover->entries);
    json_decref(handover->tensors);
    *handover = (struct handover){0};
}

json_t *handover_message(const struct handover *handover)
{
    char hex[DIGEST_HEX_SIZE];

    return json_pack("{s:s, s:s, s:s, s:O}", "path", handover->file, "format", "safetensors",
                     "sha256", digest_hex(&handover->digest, hex), "tensors", handover->tensors);
}

/* ---- what is asked for ---- */

static char *outputs_path(const struct handover *handover, int64_t number)
{
    return text_format("%s/outputs.%" PRId64, handover->folder, number);
}

bool handover_ask(struct handover *handover, const char *phase, struct message *ret)
{
    const int64_t number = handover->asked;

    if (number >= handover->capacity)
        return false;
    free(handover->outputs);
    handover->outputs = outputs_path(handover, number);
    handover->entries[number] = (struct handover_entry){
        .phase = phase,
        .secret = number > 0 ? handover->secrets[number - 1] : 0,
        .drawn = number > 0,
    };
    handover->asked++;
    snprintf(handover->next_inputs, sizeof(handover->next_inputs), "/proc/%d/fd/%d", (int)getpid(),
             handover->inputs[number]);
    *ret = (struct message){MESSAGE_HAND_OVER,
                            .hand_over = {.number = number,
                                          .outputs = handover->outputs ? handover->outputs : "",
                                          .inputs = handover->next_inputs}};
    return true;
}

enum status handover_take(struct handover *handover, const struct message *message,
                          struct error *err)
{
    struct handover_entry *entry = &handover->entries[handover->made];

    if (handover->asked != handover->made + 1 || message->handed_over.number != handover->made)
        return error_set(err, STATUS_PROTOCOL,
                         "the worker hands over outputs %" PRId64 ", which were not asked for",
                         message->handed_over.number);
    if (message->handed_over.iteration <= (handover->made > 0 ? entry[-1].iteration : 0))
        return error_set(err, STATUS_PROTOCOL,
                         "the worker hands over the outputs of iteration %" PRId64
                         ", and none has run since those before",
                         message->handed_over.iteration);
    entry->iteration = message->handed_over.iteration;
    handover->made++;
    return STATUS_OK;
}

enum status handover_judge(struct handover *handover, const struct trial_request *request,
                           handover_check_fn *check, void *context, struct error *err)
{
    struct call call = {.request = request, .check = check, .context = context};
    json_t *list = json_array();
    char text[SECRET_SIZE];
    enum status status;

    for (int64_t i = handover->judged; i < handover->made; i++) {
        const struct handover_entry *entry = &handover->entries[i];
        char *path = outputs_path(handover, i);

        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:I, s:b, s:s*}", "phase", entry->phase, "path",
                                        path ? path : "", "iteration", (json_int_t)entry->iteration,
                                        "whole", strcmp(entry->phase, "spot_check") != 0, "secret",
                                        entry->drawn ? secret_text(entry->secret, text) : NULL));
        free(path);
    }
    status = run_task(&call, json_pack("{s:o}", "judge", list), err);
    for (; handover->judged < handover->made; handover->judged++) {
        char *path = outputs_path(handover, handover->judged);

        if (path)
            unlink(path);
        free(path);
    }
    return status;
}
