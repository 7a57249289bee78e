#include "harness/runner/processes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/core/clock.h"
#include "harness/core/machine_root.h"
#include "harness/core/text.h"

static int64_t tick_ms(void)
{
    long ticks = sysconf(_SC_CLK_TCK);

    return ticks > 0 && ticks <= 1000 ? 1000 / ticks : 10;
}

/* proc(5), /proc/PID/stat: 4 ppid, 14 utime, 15 stime, 22 starttime; the name may hold anything. */
static bool read_process(const char *pid, struct process_use *ret)
{
    char path[64], *line = NULL, *open, *close;
    unsigned long long user, system, started;
    struct text name;
    int parent;
    bool good;

    snprintf(path, sizeof(path), "/proc/%.16s/stat", pid);
    if (machine_read_line(path, &line, NULL) != STATUS_OK)
        return false;
    open = strchr(line, '(');
    close = strrchr(line, ')');
    good = open && close && open < close &&
           sscanf(close + 1,
                  " %*c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu %llu %*s %*s %*s %*s %*s %*s "
                  "%llu",
                  &parent, &user, &system, &started) == 4;
    if (good) {
        text_init(&name);
        text_append_printable(&name, open + 1, (size_t)(close - open - 1));
        *ret = (struct process_use){.pid = (pid_t)strtol(pid, NULL, 10),
                                    .parent = parent,
                                    .started_ticks = (int64_t)started,
                                    .cpu_ms = (int64_t)(user + system) * tick_ms()};
        snprintf(ret->name, sizeof(ret->name), "%.30s (%.10s)", text_ok(&name) ? name.data : "?",
                 pid);
        text_finish(&name);
    }
    free(line);
    return good;
}

static void read_totals(struct processes *processes)
{
    long long user, nice, system, idle, wait, irq, soft, steal;
    char *line = NULL;

    processes->busy_ms = processes->steal_ms = processes->idle_ms = -1;
    if (machine_read_line("/proc/stat", &line, NULL) == STATUS_OK &&
        sscanf(line, "cpu %lld %lld %lld %lld %lld %lld %lld %lld", &user, &nice, &system, &idle,
               &wait, &irq, &soft, &steal) == 8) {
        processes->busy_ms = (user + nice + system + irq + soft) * tick_ms();
        processes->idle_ms = (idle + wait) * tick_ms();
        processes->steal_ms = steal * tick_ms();
    }
    free(line);
}

enum status processes_look(bool second, struct processes *ret, struct error *err)
{
    char **names = machine_list("/proc", "");
    struct processes processes = {0};
    size_t names_count = 0;

    while (names && names[names_count])
        names_count++;
    processes.items = names ? calloc(names_count + 1, sizeof(*processes.items)) : NULL;
    if (!processes.items) {
        machine_list_free(names);
        return error_no_memory(err);
    }
    processes.at_ns = clock_monotonic_ns();
    if (!second)
        read_totals(&processes);
    for (size_t i = 0; i < names_count; i++)
        if (names[i][0] >= '1' && names[i][0] <= '9' &&
            read_process(names[i], &processes.items[processes.count]))
            processes.count++;
    machine_list_free(names);
    if (second)
        read_totals(&processes);
    if (processes.busy_ms < 0) {
        processes_finish(&processes);
        return error_set(err, STATUS_UNAVAILABLE, "/proc/stat cannot be read (is /proc mounted?)");
    }
    *ret = processes;
    return STATUS_OK;
}

void processes_finish(struct processes *processes)
{
    free(processes->items);
    memset(processes, 0, sizeof(*processes));
}

const struct process_use *processes_find(const struct processes *processes, pid_t pid)
{
    for (size_t i = 0; i < processes->count; i++)
        if (processes->items[i].pid == pid)
            return &processes->items[i];
    return NULL;
}

bool processes_descends(const struct processes *processes, const struct process_use *use, pid_t of)
{
    for (int depth = 0; use && depth < 64; depth++) {
        if (use->pid == of)
            return true;
        use = processes_find(processes, use->parent);
    }
    return false;
}

static int most_first(const void *a, const void *b)
{
    const struct process_use *x = a, *y = b;

    return (x->cpu_ms < y->cpu_ms) - (x->cpu_ms > y->cpu_ms);
}

struct process_use *processes_between(const struct processes *before, const struct processes *after,
                                      pid_t own, size_t *ret_count)
{
    struct process_use *uses = calloc(after->count + 1, sizeof(*uses));
    size_t count = 0;

    for (size_t i = 0; uses && i < after->count; i++) {
        const struct process_use *now = &after->items[i], *then = processes_find(before, now->pid);
        int64_t used_ms = now->cpu_ms;

        if (then && then->started_ticks == now->started_ticks)
            used_ms -= then->cpu_ms;
        if (used_ms <= 0 || processes_descends(after, now, own))
            continue;
        uses[count] = *now;
        uses[count++].cpu_ms = used_ms;
    }
    if (count > 0)
        qsort(uses, count, sizeof(*uses), most_first);
    *ret_count = count;
    return uses;
}
