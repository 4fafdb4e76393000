/* Planning ahead on simulated plankton (Kharkovskii, section 4.4.1): 50 x 50 cells of 0.1 km, length-scale 0.5 km, a
 * macro-action is 4 cells straight on, 5 of them from the middle.
 * usage: macro [--fields N]      N defaults to 300
 * Prints figure,measured,standard error,target,target's standard error,ok for
 *   average output and simple regret of horizons 1, 2, 3 and of the most likely outputs, against an independent
 *   implementation over 500 other fields: ok within two standard errors of the difference (3.5 for the worst of them);
 *   simple regret of the anytime form less that of horizon 1, field by field: ok when below 0 at p < 0.05 (one-sided);
 *   nodes of 5 plans, exactly;
 *   memory of the anytime form under a limit: it stops, and takes no more;
 *   nodes a second of one core, against the same recursion in NumPy (macro_numpy.py) in this run: at least 20 times.
 * The exit code is 1 when a line is not ok. */
#include "tests/bench/plankton.h"

#include <sys/resource.h>

enum { ITERATIONS = 5, FIELDS_MAX = 5000 };

// clang-format off
#define FIELD {"length_scale", 0.5}, {"signal_variance", 1}, {"noise_variance", 1e-5}, {"mean", 0}
// clang-format on
#define AGENT(text, algorithm, ...)                                               \
    {                                                                             \
        .label = (text), .policy = (algorithm), .options = { FIELD, __VA_ARGS__ } \
    }
static const struct {
    struct walker walker;
    double        average, average_se, regret, regret_se; /* of 500 fields; NaN: not compared */
} rows[] = {
    {AGENT("H=1", "macro-bo", {"horizon", 1}), .587, .034, 1.450, .035},
    {AGENT("H=2 N=100", "macro-bo", {"horizon", 2}, {"samples", 100}), .620, .034, 1.356, .035},
    {AGENT("H=3 N=25", "macro-bo", {"horizon", 3}, {"samples", 25}), .629, .034, 1.311, .035},
    {AGENT("H=3 N=100", "macro-bo", {"horizon", 3}, {"samples", 100}), .635, .034, 1.284, .035},
    {AGENT("most likely H=2", "macro-bo", {"horizon", 2}, {"outputs", 1}), .578, .035, 1.475, .035},
    {AGENT("most likely H=3", "macro-bo", {"horizon", 3}, {"outputs", 1}), .566, .035, 1.451, .035},
    {AGENT("most likely H=4", "macro-bo", {"horizon", 4}, {"outputs", 1}), .594, .035, 1.453, .035},
    {AGENT("H=1 beta=1", "macro-bo", {"horizon", 1}, {"beta", 1}), .332, .035, 1.381, .037},
    {AGENT("H=2 N=100 beta=.3", "macro-bo", {"horizon", 2}, {"beta", .3}), .553, .035, 1.217, .035},
    {AGENT("H=2 N=100 beta=10", "macro-bo", {"horizon", 2}, {"beta", 10}), .018, .035, 1.671, .035},
    {AGENT("anytime H=3", "macro-bo-anytime", {"horizon", 3}, {"nodes", 1e6}), NAN, NAN, NAN, NAN},
    {AGENT("anytime H=4", "macro-bo-anytime", {"horizon", 4}, {"nodes", 1e6}), NAN, NAN, NAN, NAN},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static int failures;

struct estimate {
    double value, se;
};

static void print(const char *what, const char *figure, struct estimate measured, struct estimate target, bool ok)
{
    printf("%s %s,%.4g,%.3g,%.4g,%.3g,%s\n", what, figure, measured.value, measured.se, target.value, target.se,
           ok ? "ok" : "NOT OK");
    fflush(stdout);
    failures += !ok;
}

static void compare(const char *label, const char *what, const struct moments *m, double target, double target_se,
                    double *worst)
{
    double z = fabs(moments_mean(m) - target) / hypot(moments_se(m), target_se);
    *worst = fmax(*worst, z);
    print(label, what, (struct estimate){moments_mean(m), moments_se(m)}, (struct estimate){target, target_se}, z <= 2);
    failures -= z > 2 && z <= 3.5; // one of many may be out by chance; the line says so
}

static void run_fields(size_t fields)
{
    static double  outputs[SITES], regret[ROWS][FIELDS_MAX];
    struct moments average[ROWS] = {{0}}, simple[ROWS] = {{0}}, largest = {0};
    double         seconds[ROWS] = {0}, worst = 0;
    for (uint64_t f = 0; f < fields; f++) {
        uint32_t site;
        double   most = draw_field(f, outputs);
        moments_add(&largest, most);
        struct graph graph = begin(f, outputs, &site);
        for (size_t r = 0; r < ROWS; r++) {
            struct walk walk;
            walk_run(&rows[r].walker, &graph, outputs, ITERATIONS, 1000 * f + r, &walk);
            regret[r][f] = most - fmax(walk.best, outputs[site]);
            moments_add(&average[r], walk.average);
            moments_add(&simple[r], regret[r][f]);
            seconds[r] += walk.seconds;
        }
    }
    compare("field", "largest output", &largest, 2.61, .02, &worst);
    for (size_t r = 0; r < ROWS; r++) {
        const char *label = rows[r].walker.label;
        if (!isnan(rows[r].average)) {
            compare(label, "average output", &average[r], rows[r].average, rows[r].average_se, &worst);
            compare(label, "simple regret", &simple[r], rows[r].regret, rows[r].regret_se, &worst);
            continue;
        }
        struct moments difference = {0};
        for (size_t f = 0; f < fields; f++)
            moments_add(&difference, regret[r][f] - regret[0][f]);
        print(label, "average output", (struct estimate){moments_mean(&average[r]), moments_se(&average[r])},
              (struct estimate){NAN, NAN}, true);
        print(label, "simple regret", (struct estimate){moments_mean(&simple[r]), moments_se(&simple[r])},
              (struct estimate){NAN, NAN}, true);
        print(label, "simple regret less that of H=1",
              (struct estimate){moments_mean(&difference), moments_se(&difference)}, (struct estimate){0, NAN},
              moments_mean(&difference) < -1.645 * moments_se(&difference));
        printf("%s milliseconds a plan,%.3g\n", label, 1e3 * seconds[r] / (double)(ITERATIONS * fields));
    }
    print("worst", "distance in standard errors", (struct estimate){worst, NAN}, (struct estimate){3.5, NAN},
          worst <= 3.5);
}

static void count_nodes(void)
{
    static const double targets[] = {25, 8009, 2403209, 641123209};
    static double       outputs[SITES];
    uint32_t            site;
    draw_field(1, outputs);
    struct graph graph = begin(1, outputs, &site);
    for (size_t h = 1; h <= 4; h++) {
        const struct walker walker = AGENT("", "macro-bo", {"horizon", (double)h}, {"samples", 100});
        struct walk         walk;
        char                label[16];
        walk_run(&walker, &graph, outputs, ITERATIONS, 5, &walk);
        snprintf(label, sizeof label, "H=%zu N=100", h);
        print(label, "nodes", (struct estimate){walk.nodes, NAN}, (struct estimate){targets[h - 1], NAN},
              walk.nodes == targets[h - 1]);
    }
}

/* The first plan of a walk, the best of several times, and the ratio to NumPy. */
static void compare_speed(void)
{
    static double outputs[SITES];
    uint32_t      site;
    const char   *python = getenv("PYTHON");
    char          command[256];
    double        h, samples, numpy_seconds, nodes;
    snprintf(command, sizeof command, "%s tests/bench/macro_numpy.py", python == NULL ? "/usr/bin/python3" : python);
    FILE *numpy = popen(command, "r");
    draw_field(2, outputs);
    struct graph graph = begin(2, outputs, &site);
    while (numpy != NULL && fscanf(numpy, "%lf %lf %lf %lf", &h, &samples, &numpy_seconds, &nodes) == 4) {
        const struct walker walker = AGENT("", "macro-bo", {"horizon", h}, {"samples", samples});
        double              seconds = INFINITY;
        char                label[32];
        struct walk         walk;
        for (int i = 0; i < 20; i++) {
            walk_run(&walker, &graph, outputs, ITERATIONS, 7, &walk);
            seconds = fmin(seconds, walk.seconds / walk.nodes);
        }
        snprintf(label, sizeof label, "H=%.0f N=%.0f", h, samples);
        printf("%s nodes a second,%.3g,NumPy,%.3g\n", label, 1 / seconds, nodes / numpy_seconds);
        print(label, "speed against NumPy", (struct estimate){numpy_seconds / nodes / seconds, NAN},
              (struct estimate){20, NAN}, numpy_seconds / nodes / seconds >= 20);
    }
    if (numpy == NULL || pclose(numpy) != 0)
        print("NumPy", "ran", (struct estimate){0, NAN}, (struct estimate){1, NAN}, false);
}

/* The anytime form with much to look at and little to remember it in: it gives its best, and takes no more. */
static void limit_memory(void)
{
    static double outputs[SITES];
    uint32_t      site;
    struct walk   walk;
    struct rusage before, after;
    const size_t  limit = (size_t)16 << 20;
    struct walker walker = AGENT("", "macro-bo-anytime", {"horizon", 4}, {"samples", 1000}, {"nodes", 1e10});
    walker.memory_bytes = limit;
    draw_field(3, outputs);
    struct graph graph = begin(3, outputs, &site);
    getrusage(RUSAGE_SELF, &before);
    walk_run(&walker, &graph, outputs, ITERATIONS, 9, &walk);
    getrusage(RUSAGE_SELF, &after);
    double grown = 1024.0 * (double)(after.ru_maxrss - before.ru_maxrss);
    print("anytime H=4 N=1000 within 16 MiB", "stopped by memory",
          (struct estimate){strcmp(walk.stopped, "memory") == 0, NAN}, (struct estimate){1, NAN},
          strcmp(walk.stopped, "memory") == 0 && walk.len == 4 * ITERATIONS);
    print("anytime H=4 N=1000 within 16 MiB", "bytes taken from the system", (struct estimate){grown, NAN},
          (struct estimate){1.25 * (double)limit, NAN}, grown <= 1.25 * (double)limit);
}

int main(int argc, char **argv)
{
    size_t fields = argc == 3 && strcmp(argv[1], "--fields") == 0 ? strtoul(argv[2], NULL, 10) : 300;
    if (!mat_use_one_thread() || fields < 2 || fields > FIELDS_MAX)
        return 2;
    printf("figure,measured,standard error,target,standard error,ok\n");
    limit_memory();
    count_nodes();
    compare_speed();
    run_fields(fields);
    return failures == 0 ? 0 : 1;
}
