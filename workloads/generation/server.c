/*
 * As a server: requests join and leave between steps. A step has a row of every sequence that makes
 * tokens and, in what is left of `batching.max_tokens`, pieces of prompts of at most
 * `batching.chunk`, in the order in which requests were taken in (chunked prefill). A request is
 * taken in when there is a slot and blocks of the cache for its whole length, so that none is ever
 * put back.
 */
#include <stdlib.h>

#include "workloads/generation/generation.h"

#define FIRST_SEQUENCE                                                                             \
    ((uint64_t)1 << 42) /* far from those of the pool, calibration and checks                      \
                         */

struct served {
    uint32_t request;
    uint64_t slot, prompt, output;
    uint64_t taken, made; /* tokens of the prompt in the cache; outputs */
};

struct generation_server {
    struct served *served; /* in the order in which they came, `count` of `slots` */
    uint32_t count;
    uint64_t slots;
    bool *used;    /* slots */
    int32_t *free; /* blocks, a stack */
    uint64_t free_count, blocks;
    uint32_t *put_out; /* of the latest step */
    int32_t *prompt;   /* room for one, and its targets */
};

void generation_server_destroy(struct generation_server *server)
{
    if (!server)
        return;
    free(server->served);
    free(server->used);
    free(server->free);
    free(server->put_out);
    free(server->prompt);
    free(server);
}

enum status generation_server_create(struct generation_instance *instance, struct error *err)
{
    const struct gpt2_device_plan *plan = &generation_model(instance)->plan;
    const uint64_t slots = instance->first;
    struct generation_server *server = calloc(1, sizeof(*server));

    instance->server = server;
    if (server) {
        server->slots = slots;
        server->blocks = server->free_count = plan->blocks - plan->pages;
        server->served = calloc(slots, sizeof(*server->served));
        server->used = calloc(slots, sizeof(*server->used));
        server->free = malloc(server->blocks * sizeof(*server->free));
        server->put_out = calloc(slots, sizeof(*server->put_out));
        server->prompt = calloc(2 * gpt2_token_stride(plan), sizeof(*server->prompt));
    }
    if (!server || !server->served || !server->used || !server->free || !server->put_out ||
        !server->prompt)
        return error_no_memory(err);
    for (uint64_t i = 0; i < server->blocks; i++)
        server->free[i] = (int32_t)(server->blocks - 1 - i);
    return STATUS_OK;
}

enum status generation_admit(struct workload_instance *base, uint32_t request,
                             uint32_t prompt_tokens, uint32_t output_tokens, bool *ret_room,
                             struct error *err)
{
    struct generation_instance *instance = (struct generation_instance *)base;
    struct generation_server *server = instance->server;
    struct gpt2_device *model = generation_model(instance);
    const struct gpt2_device_plan *plan = &model->plan;
    const uint64_t stride = gpt2_token_stride(plan);
    struct served served = {.request = request, .prompt = prompt_tokens, .output = output_tokens};
    const uint64_t pages = (served.prompt + served.output + plan->page - 1) / plan->page;

    if (served.prompt < 1 || served.output < 1 || pages > plan->pages)
        return error_set(err, STATUS_INTERNAL, "request %u has %u and %u tokens, not as declared",
                         request, prompt_tokens, output_tokens);
    *ret_room = server->count < server->slots && pages <= server->free_count;
    if (!*ret_room)
        return STATUS_OK;
    while (server->used[served.slot])
        served.slot++;
    server->used[served.slot] = true;
    instance->left[served.slot].prompt = 0;
    for (uint64_t i = 0; i < pages; i++)
        instance->blocks[served.slot * plan->pages + i] = server->free[--server->free_count];
    server->served[server->count++] = served;
    token_source_sequence(instance->inference.source, FIRST_SEQUENCE + request, served.prompt,
                          server->prompt, server->prompt + stride);
    return device_upload(model->buffers[GPT2_TOKENS], served.slot * stride * sizeof(int32_t),
                         server->prompt, served.prompt * sizeof(int32_t), err);
}

/* The parts of the next step, one a request of `server->served` from the first; 0 rows: none. */
static uint64_t plan_step(struct generation_instance *instance)
{
    struct generation_server *server = instance->server;
    uint64_t left = instance->parameters->max_tokens, parts = 0;

    for (uint32_t i = 0; i < server->count; i++)
        left -= server->served[i].made > 0;
    for (int prefill = 0; prefill < 2; prefill++)
        for (uint32_t i = 0; i < server->count; i++) {
            const struct served *served = &server->served[i];
            const uint64_t chunk = instance->parameters->chunk;
            const uint64_t rest = served->prompt - served->taken;
            struct gpt2_part part = {.slot = served->slot, .output = GPT2_NO_OUTPUT};

            if ((served->made == 0) != prefill)
                continue;
            part.first = prefill ? served->taken : served->prompt + served->made - 1;
            part.count = prefill ? rest < chunk ? rest : chunk : 1;
            if (prefill && part.count > left)
                part.count = left;
            if (part.count == 0)
                continue;
            left -= prefill ? part.count : 0;
            if (!prefill || part.count == rest)
                part.output = part.first + part.count - 1;
            instance->parts[parts++] = part;
        }
    return parts;
}

static struct served *find(struct generation_server *server, uint64_t slot)
{
    uint32_t i = 0;

    while (server->served[i].slot != slot)
        i++;
    return &server->served[i];
}

/* What the step did; requests with their last output leave. */
static void take_account(struct generation_instance *instance, uint64_t parts,
                         struct workload_served *ret)
{
    struct generation_server *server = instance->server;
    const struct gpt2_device_plan *plan = &generation_model(instance)->plan;
    uint32_t kept = 0;

    ret->kv_used = (uint32_t)(server->blocks - server->free_count);
    ret->put_out = server->put_out;
    ret->put_out_count = ret->prefill_tokens = 0;
    for (uint64_t p = 0; p < parts; p++) {
        const struct gpt2_part *part = &instance->parts[p];
        struct served *served = find(server, part->slot);

        if (served->made == 0) {
            served->taken += part->count;
            ret->prefill_tokens += (uint32_t)part->count;
        }
        if (part->output == GPT2_NO_OUTPUT)
            continue;
        served->made++;
        server->put_out[ret->put_out_count++] = served->request;
    }
    for (uint32_t i = 0; i < server->count; i++) {
        const struct served *served = &server->served[i];
        const uint64_t pages = (served->prompt + served->output + plan->page - 1) / plan->page;

        if (served->made < served->output) {
            server->served[kept++] = *served;
            continue;
        }
        for (uint64_t b = 0; b < pages; b++)
            server->free[server->free_count++] = instance->blocks[served->slot * plan->pages + b];
        server->used[served->slot] = false;
        instance->left[served->slot] = (struct generation_text){served->prompt, served->output};
    }
    server->count = kept;
}

/* Before the window: a token of as many sequences as there may be, whatever they are. */
static uint64_t plan_warm_step(struct generation_instance *instance, uint64_t number)
{
    const struct gpt2_device_plan *plan = &generation_model(instance)->plan;
    const struct generation_server *server = instance->server;
    const uint64_t positions = instance->parameters->prompt;

    for (uint64_t s = 0; s < server->slots; s++) {
        instance->parts[s] = (struct gpt2_part){s, number % positions, 1, number % positions};
        for (uint64_t i = 0; i < plan->pages; i++)
            instance->blocks[s * plan->pages + i] =
                (int32_t)((s * plan->pages + i) % server->blocks);
    }
    return server->slots;
}

enum status generation_serve(struct workload_instance *base, const struct workload_step *step,
                             struct error *err)
{
    struct generation_instance *instance = (struct generation_instance *)base;
    const bool warm = step->at_ns < 0;
    const uint64_t parts = warm ? plan_warm_step(instance, step->number) : plan_step(instance);

    TRY(gpt2_device_set_step(generation_model(instance), instance->parts, parts, instance->blocks,
                             err));
    TRY(generation_run(instance, err));
    TRY(device_synchronize(base->device, err));
    instance->served = warm ? 0 : parts;
    if (warm)
        *step->served = (struct workload_served){0};
    else
        take_account(instance, parts, step->served);
    return STATUS_OK;
}
