/* Targeted perturbations of small image classifiers: how often and after how many queries a search finds one.
 *   bos2 [MODEL] [INSTANCES] [BUDGET] [SEED]
 * MODEL is digits8x8_mlp32 or mnist28x28_mlp32 of tests/data/image_classifiers; an instance is one of its 50 test
 * images and one of the nine wrong classes; a query succeeds when the classifier prefers that class for the perturbed
 * image.  The same instances and seeds for each search; a search that fails counts as more queries than any. */
#include "engine/policy.h"
#include "engine/rng.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HIDDEN = 32, CLASSES = 10, IMAGES = 50, PIXELS_MAX = 784, INSTANCES_MAX = 450, OPTIONS_MAX = 16 };

struct classifier {
    const char         *name;
    size_t              side;
    double              scale; /* of a pixel */
    double              bound;
    const struct latent *latents;
    size_t              latents_len;
};
static const struct latent small[] = {{2, 2}, {3, 3}, {4, 4}, {5, 5}, {6, 6}, {7, 7}, {8, 8}};
static const struct latent large[] = {{6, 6}, {8, 8}, {10, 10}, {12, 12}, {14, 14}, {16, 16}, {18, 18}};
static const struct classifier classifiers[] = {
    {"digits8x8_mlp32", 8, 16, 0.3, small, 7},
    {"mnist28x28_mlp32", 28, 255, 0.3, large, 7},
};

struct model {
    const struct classifier *kind;
    size_t                   pixels;
    double                   W1[PIXELS_MAX * HIDDEN], b1[HIDDEN], W2[HIDDEN * CLASSES], b2[CLASSES];
    double                   images[IMAGES * PIXELS_MAX], labels[IMAGES * 13];
};

static void read_csv(const char *name, const char *part, size_t skip_lines, double *out, size_t count)
{
    char path[256], cell[64];
    snprintf(path, sizeof path, "tests/data/image_classifiers/%s_%s.csv", name, part);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        perror(path);
        exit(2);
    }
    for (size_t i = 0; i < skip_lines; i++)
        while (fgetc(file) != '\n')
            ;
    for (size_t i = 0; i < count; i++) {
        if (fscanf(file, "%63[-+.eE0-9]%*1[,\n]", cell) != 1)
            exit(2);
        out[i] = strtod(cell, NULL);
    }
    fclose(file);
}

static void load(struct model *model, const struct classifier *kind)
{
    model->kind = kind;
    model->pixels = kind->side * kind->side;
    read_csv(kind->name, "W1", 0, model->W1, model->pixels * HIDDEN);
    read_csv(kind->name, "b1", 0, model->b1, HIDDEN);
    read_csv(kind->name, "W2", 0, model->W2, HIDDEN * CLASSES);
    read_csv(kind->name, "b2", 0, model->b2, CLASSES);
    read_csv(kind->name, "images50", 0, model->images, IMAGES * model->pixels);
    read_csv(kind->name, "labels50", 1, model->labels, IMAGES * 13);
}

/* log p_target - log sum of the others, of the image moved by delta and cut to [0, 1].      (5.2) */
static double score(const struct model *model, size_t image, size_t target, const double *delta)
{
    double hidden[HIDDEN], out[CLASSES], rest = 0.0, top = -HUGE_VAL;
    memcpy(hidden, model->b1, sizeof hidden);
    memcpy(out, model->b2, sizeof out);
    for (size_t i = 0; i < model->pixels; i++) {
        double x = model->images[image * model->pixels + i] / model->kind->scale + delta[i];
        x = fmin(fmax(x, 0.0), 1.0);
        for (size_t h = 0; h < HIDDEN; h++)
            hidden[h] += x * model->W1[i * HIDDEN + h];
    }
    for (size_t h = 0; h < HIDDEN; h++)
        for (size_t c = 0; c < CLASSES && hidden[h] > 0.0; c++)
            out[c] += hidden[h] * model->W2[h * CLASSES + c];
    for (size_t c = 0; c < CLASSES; c++)
        top = c != target ? fmax(top, out[c]) : top;
    for (size_t c = 0; c < CLASSES; c++)
        rest += c != target ? exp(out[c] - top) : 0.0;
    return out[target] - top - log(rest);
}

struct variant {
    const char *name;
    const char *options[4]; /* name, value .. */
    size_t      fixed;      /* 0: all sizes; otherwise only this one, from 1 */
};

/* How many queries until success; 0: none within the budget. */
static size_t attack(const struct model *model, const struct variant *variant, size_t instance, size_t budget,
                     uint64_t seed)
{
    static struct proposal proposal;
    static double          point[PIXELS_MAX];
    const struct policy   *policy = policy_find("bos2");
    const struct classifier *kind = model->kind;
    struct space           space = {.kind = SPACE_IMAGE, .height = kind->side, .width = kind->side, .channels = 1,
                                    .bound = kind->bound, .latents = kind->latents, .latents_len = kind->latents_len};
    double                 options[OPTIONS_MAX];
    size_t                 image = instance / 9, label = (size_t)model->labels[image * 13 + 2], found = 0;
    size_t                 target = instance % 9 + (instance % 9 >= label);
    if (variant->fixed > 0) {
        space.latents += variant->fixed - 1;
        space.latents_len = 1;
    }
    for (int i = 0; policy->options[i].name != NULL; i++)
        options[i] = policy->options[i].fallback;
    for (int i = 0; i < 4 && variant->options[i] != NULL; i += 2)
        options[policy_option(policy, variant->options[i])] = strtod(variant->options[i + 1], NULL);
    struct problem  problem = {.space = &space, .options = options, .seed = seed + instance, .memory_bytes = 1 << 28};
    struct session *session;
    if (policy->open(&problem, &session, NULL) != STATUS_OK)
        exit(2);
    proposal.point = point;
    for (uint64_t trial = 1; trial <= budget && found == 0; trial++) {
        const struct ask ask = {.trial = trial};
        if (policy->ask(session, &ask, &proposal, NULL) != STATUS_OK)
            exit(2);
        struct event event = {.kind = EVENT_SUGGESTED, .trial = trial, .point = point, .note = proposal.note,
                              .note_bytes = proposal.note_bytes};
        if (policy->tell(session, &event, NULL) != STATUS_OK)
            exit(2);
        event.kind = EVENT_OBSERVED;
        event.value = score(model, image, target, point);
        if (getenv("TRACE"))
            printf("%s %zu %d size %u loop %u fitted %u theta %.2f %.2f %.2f mean %.2f sd %.2f y %.3f %s\n", variant->name, instance, (int)trial,
                *(uint32_t*)(proposal.note + 52), *(uint32_t*)(proposal.note+48), *(uint32_t*)(proposal.note+60),
                *(double*)(proposal.note+24),*(double*)(proposal.note+32),*(double*)(proposal.note+40),
                proposal.mean, proposal.sd, event.value, proposal.fallback ? proposal.fallback : "");
        if (policy->tell(session, &event, NULL) != STATUS_OK)
            exit(2);
        if (event.value > 0.0)
            found = trial;
    }
    policy->close(session);
    return found;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    static struct model model;
    static double       queries[INSTANCES_MAX];
    static const struct variant variants[] = {
        {"bos2", {NULL}, 0},
        {"no stopping", {"stopping", "0"}, 0},
        {"fixed size 1", {NULL}, 1},
        {"fixed size 3", {NULL}, 3},
        {"fixed size 5", {NULL}, 5},
        {"fixed size 7", {NULL}, 7},
    };
    const char *name = argc > 1 ? argv[1] : "digits8x8_mlp32";
    size_t instances = argc > 2 ? strtoul(argv[2], NULL, 10) : 50, budget = argc > 3 ? strtoul(argv[3], NULL, 10) : 900;
    uint64_t seed = argc > 4 ? strtoul(argv[4], NULL, 10) : 0;
    load(&model, &classifiers[strcmp(name, "mnist28x28_mlp32") == 0]);
    if (getenv("BOUND")) { static struct classifier k; k = *model.kind; k.bound = atof(getenv("BOUND")); model.kind = &k; }
    for (size_t v = 0; v < sizeof variants / sizeof *variants; v++) {
        size_t found = 0;
        double sum = 0;
        if (getenv("ONLY") && !strchr(getenv("ONLY"), '0' + (int)v)) continue;
        for (size_t i = 0; i < instances; i++) {
            size_t used = attack(&model, &variants[v], i * INSTANCES_MAX / instances, budget, seed);
            found += used > 0;
            queries[i] = used > 0 ? (double)used : HUGE_VAL;
            sum += used > 0 ? (double)used : (double)budget;
        }
        qsort(queries, instances, sizeof *queries, compare);
        printf("%s,%s,success %.3f,median %.1f, q1 %.0f q3 %.0f, mean %.1f\n", name, variants[v].name, (double)found / (double)instances,
               queries[instances / 2], queries[instances / 4], queries[instances * 3 / 4], sum / (double)instances);
        fflush(stdout);
    }
    return 0;
}
