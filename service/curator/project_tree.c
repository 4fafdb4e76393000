/* See project.h: a quadtree's release.  One candidate for each card of each leaf, with the leaf's centre; the deck decides
 * which row answers for it.  Cards stay in the order of the tree: who answers is random within a leaf. */
#include "service/curator/project.h"

static enum status deal_all(struct project_job *job, const struct quadtree_leaves *leaves, struct sampler *sampler,
                            struct error *err)
{
    size_t  n = job->table.n, d = job->table.d, at = 0;
    size_t *scratch = ARENA_NEW(&job->arena, size_t, n), *cards = ARENA_NEW(&job->arena, size_t, n);
    job->indices = ARENA_NEW(&job->arena, int64_t, leaves->cards * d);
    if (scratch == NULL || cards == NULL || job->indices == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < leaves->len; i++) {
        const struct quadtree_leaf *leaf = &leaves->leaves[i];
        TRY(quadtree_deal(leaf, leaves->order, sampler, scratch, cards, err));
        for (size_t k = 0; k < leaf->deck; k++, at++) {
            job->secret.rows[at] = cards[k] == QUADTREE_BLANK ? SECRET_BLANK : (uint32_t)cards[k];
            for (size_t c = 0; c < d; c++)
                job->indices[at * d + c] = leaves->indices[i * d + c];
        }
    }
    job->secret.len = leaves->cards;
    sign_wipe(scratch, n * sizeof *scratch);
    sign_wipe(cards, n * sizeof *cards);
    return STATUS_OK;
}

/* Outcomes without noise tell their row anyway, so nothing is lost without the proof's blanks: the nearest unused row in the
 * order of the tree answers.  There is one, as there are no more cards than rows. */
static enum status fill_blanks(struct project_job *job, const struct quadtree_leaves *leaves, struct error *err)
{
    size_t n = job->table.n, at = 0;
    bool  *is_used = arena_zalloc(&job->arena, n, sizeof *is_used);
    if (is_used == NULL)
        return error_no_memory(err);
    for (size_t k = 0; k < leaves->cards; k++)
        if (job->secret.rows[k] != SECRET_BLANK)
            is_used[job->secret.rows[k]] = true;
    for (size_t i = 0; i < leaves->len; i++) {
        size_t low = leaves->leaves[i].first, high = low + leaves->leaves[i].rows; /* [low, high) is used up */
        for (size_t end = at + leaves->leaves[i].deck; at < end; at++) {
            if (job->secret.rows[at] != SECRET_BLANK)
                continue;
            while (low > 0 && is_used[leaves->order[low - 1]])
                low--;
            while (high < n && is_used[leaves->order[high]])
                high++;
            size_t middle = 2 * leaves->leaves[i].first + leaves->leaves[i].rows;
            bool   is_below = low > 0 && (high == n || middle - 2 * low < 2 * high - middle);
            size_t row = leaves->order[is_below ? low - 1 : high];
            job->secret.rows[at] = (uint32_t)row;
            is_used[row] = true;
        }
    }
    sign_wipe(is_used, n * sizeof *is_used);
    return STATUS_OK;
}

enum status project_tree_make(struct project_job *job, struct sampler *sampler, struct error *err)
{
    struct release_manifest *m = &job->manifest;
    struct quadtree_leaves   leaves;
    struct quadtree_data     data = {.scale = {.centre = m->centre,
                                               .length_scales = m->length_scales,
                                               .radius = m->radius,
                                               .low = m->low,
                                               .high = m->high},
                                     .rows = job->table.rows};
    TRY(quadtree_grow(&m->tree, &data, sampler, &job->arena, &leaves, err));
    TRY(deal_all(job, &leaves, sampler, err));
    for (size_t k = 0; k < job->secret.len; k++)
        job->blanks += job->secret.rows[k] == SECRET_BLANK;
    if (!m->has_outcomes)
        TRY(fill_blanks(job, &leaves, err));
    sign_wipe(leaves.order, job->table.n * sizeof *leaves.order);
    sign_wipe(leaves.leaves, leaves.len * sizeof *leaves.leaves);
    m->rows = (int64_t)job->secret.len;
    m->mechanism.gamma = m->tree.gamma;
    return STATUS_OK;
}
