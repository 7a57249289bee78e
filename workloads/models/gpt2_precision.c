#include "workloads/models/gpt2_precision.h"

/* 10 arrays and 4 weights a layer, and 5 (stack_arrays). */
struct stack_tolerance gpt2_tolerance_of(enum precision precision, enum dtype storage,
                                         const struct gpt2_shape *shape, uint64_t tokens)
{
    return stack_tolerance_of(precision, storage, 14 * shape->layers + 5, tokens);
}

json_t *gpt2_recipe_json(enum precision precision, const struct gpt2_device_plan *plan)
{
    const char *storage = dtype_name(plan->storage);
    json_t *ret;

    if (plan->quantised)
        return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "gemm_weights", "i8", "gemm_inputs",
                         "i8", "gemm_sums", "i32", "logits", "f32", "all_else", storage,
                         "statistics_and_sums", "f32");
    ret = json_pack("{s:s, s:s, s:s, s:s}", "parameters", storage, "activations", storage, "gemms",
                    precision_name(precision), "statistics_and_sums", "f32");

    if (ret && plan->training) {
        json_object_set_new(ret, "gradients", json_string(storage));
        json_object_set_new(ret, "master_weights", json_string("f32"));
        json_object_set_new(ret, "optimizer_moments", json_string("f32"));
        json_object_set_new(ret, "losses", json_string("f32"));
        json_object_set_new(ret, "loss_scaling",
                            plan->scale > 0.0
                                ? json_pack("{s:f, s:I}", "initial", plan->scale, "growth_interval",
                                            (json_int_t)plan->scale_interval)
                                : json_string("none"));
    }
    return ret;
}

static void describe(enum precision precision, const struct gpt2_device_plan *plan,
                     struct text *ret)
{
    const char *storage = dtype_name(plan->storage);

    text_append_format(ret, "%s: ", precision_name(precision));
    if (plan->quantised) {
        text_append_format(ret,
                           "GEMMs with weights (the head's too) take i8 and add up in i32; "
                           "weights have a scale an output channel, inputs a static one a GEMM; "
                           "embeddings, biases, norms, attention and the residual stream in %s, "
                           "arithmetic in f32\n",
                           storage);
        return;
    }
    if (plan->storage == DTYPE_F32 && precision == PRECISION_FP32) {
        text_append(ret, "all in f32\n");
        return;
    }
    if (precision == PRECISION_TF32) {
        text_append(ret, "stored in f32, GEMMs in tf32\n");
        return;
    }
    text_append_format(ret, "parameters and activations in %s, %s", storage,
                       plan->training ? "gradients too, " : "");
    if (plan->training)
        text_append(ret, "master weights and optimizer moments in f32, ");
    text_append(ret, "arithmetic, sums, norm statistics and losses in f32");
    if (plan->scale > 0.0)
        text_append_format(ret, ", dynamic loss scale from %g, doubled after %u good steps",
                           plan->scale, plan->scale_interval);
    text_append(ret, "\n");
}

void gpt2_recipes_describe(const struct workload *workload,
                           struct gpt2_device_plan (*plan_of)(const struct workload_case *work),
                           struct text *ret)
{
    for (size_t i = 0; i < workload->precision_count; i++) {
        const struct workload_case work = {.workload = workload,
                                           .precision = workload->precisions[i],
                                           .batch = workload->batches[0]};
        const struct gpt2_device_plan plan = plan_of(&work);

        describe(work.precision, &plan, ret);
    }
}
