/* Every code that a reply can have: X(code, HTTP status, whether the same request may succeed later, cause, cure).  By the
 * alphabet.  Served at /problems/CODE, and the table of openapi.yaml; a test compares both, and the sources. */
#ifndef GNOMON_API_CORE_PROBLEM_LIST_H
#define GNOMON_API_CORE_PROBLEM_LIST_H

// clang-format off
#define PROBLEM_LIST(X) \
    X(agent_moved_on, 409, false, "A later trial of the graph starts where this one ends, so its sites cannot be cut short any more.", "Report a value for each site of the trial.") \
    X(agent_not_found, 404, false, "The federation or game has no such agent.", "List the agents; a seat is a number, an agent of a game a name.") \
    X(all_handed_out, 409, true, "Other workers have the last trials that the budget or the space allows.", "Ask again after Retry-After: a trial comes back if its run fails or its lease ends. What a killed worker has is taken back by POST of the trial's abandon with requeue.") \
    X(already_imported, 409, false, "This file was imported before.", "Use the study or game that the detail names, or delete it first.") \
    X(ambiguous_name, 409, false, "Several studies have this name.", "Use their ids, or rename all but one.") \
    X(awaiting_candidates, 409, true, "The study has no candidates yet.", "Declare and upload them with POST and PUT of its candidates.") \
    X(bad_agents, 422, false, "A federation cannot have so many seats.", "Give 2 to 10,000 seats.") \
    X(bad_bound, 422, false, "A bound is not finite, not an integer where it must be one, or not positive where a scale needs that.", "Correct the bound; the pointer names it.") \
    X(bad_clip, 422, false, "The clipping norm cannot be used.", "Give a number that is positive and not tiny.") \
    X(bad_combination, 422, false, "Members that exclude each other, or contradict each other, were sent together.", "Leave one of them out; the pointer names it.") \
    X(bad_condition, 422, false, "A condition names a parameter that comes later, is a double without a step, or cannot have that value.", "Let it depend on earlier parameters and their values; of a forbidden double say min or max.") \
    X(bad_constraint, 422, false, "A constraint has no coefficients or bounds that can be used, or names a parameter that cannot be in one.", "Use finite coefficients other than 0, of unconditional parameters that are numbers, each once.") \
    X(bad_cursor, 422, false, "The cursor is not one that this list gave.", "Take next_cursor of the page before, unchanged, with the same list and filters.") \
    X(bad_curve, 422, false, "The steps of a learning curve do not increase, or it has no values.", "Give each step once, in order, with a finite value.") \
    X(bad_delta, 422, false, "delta is not a probability that a guarantee may have.", "Give a number above 0 and at most 0.1 divided by the number of rows or seats.") \
    X(bad_epsilon, 422, false, "epsilon cannot be used.", "Give a positive number within the documented range.") \
    X(bad_export, 422, false, "A line of the export does not follow from those before it, or is none that this service could have written.", "Send the file as it was exported; the pointer has the number of the line.") \
    X(bad_features, 422, false, "There cannot be so many random features.", "Give 1 to 10,000 features.") \
    X(bad_key, 422, false, "The text is no Ed25519 public key.", "Give the line that gnomon key prints.") \
    X(bad_manifest, 422, false, "The manifest of the release is not complete, or its members contradict each other.", "Send the file that gnomon project wrote, unchanged.") \
    X(bad_name, 422, false, "A name has characters that it may not have.", "Use letters, digits, _, - and full stops.") \
    X(bad_noise_multiplier, 422, false, "The noise multiplier is outside its range, or leaves the budget.", "Leave it out, and the least that keeps the budget is taken.") \
    X(bad_prior, 422, false, "A prior does not fit its parameter.", "Keep its numbers within the ranges of the schema.") \
    X(bad_rates, 422, false, "The noise of a quadtree's levels is not worth its epsilon.", "Send the manifest that gnomon project wrote.") \
    X(bad_region, 422, false, "There is no region with this number.", "Give a number below the number of regions.") \
    X(bad_regions, 422, false, "The space cannot be cut into so many regions.", "Give 1 to 64 regions, and a space without constraints.") \
    X(bad_relation, 422, false, "The manifest's intervals or protected moves are empty.", "Give each column a public interval, and a positive move.") \
    X(bad_releases, 422, false, "There are too many rounds for the accounting of privacy.", "Give fewer rounds.") \
    X(bad_request, 400, false, "The request line, a header, the address or a query cannot be read.", "Correct what the detail names.") \
    X(bad_sampling_rate, 422, false, "The sampling rate is not a probability above 0.", "Give a number above 0 and at most 1.") \
    X(bad_signature, 422, false, "The signature of the manifest does not fit it and its key.", "Send the file that gnomon project wrote, unchanged.") \
    X(bad_size, 422, false, "An image, or a resolution of it, is empty or too large.", "Keep to the limits of the space's schema.") \
    X(bad_step, 422, false, "A step is larger than max - min, too small to tell values apart, or does not lead from a new min to the one before.", "Give a step of 1e-12 of the range or more, at most max - min; a space grows by whole steps.") \
    X(bad_url, 422, false, "An artifact's address is none.", "Give one with a scheme that is not javascript, data or vbscript.") \
    X(bad_weights, 422, false, "The exponents of the weights are not in order.", "Give 0 <= b <= a <= 50.") \
    X(body_too_large, 413, false, "The body is larger than the limit.", "Send it in parts; GET /v1/meta has the limit.") \
    X(budget_exhausted, 409, false, "The study's budget has no trial left.", "Raise it with PATCH of the study.") \
    X(budget_too_small, 422, false, "Not even one round can be paid from the privacy budget.", "Raise epsilon, the noise or the number of seats.") \
    X(busy, 503, true, "Others change the same thing at this moment, or too many requests are here.", "Send the same request again after Retry-After.") \
    X(candidates_complete, 409, false, "The study has its candidates; they never change.", "Create another study for other candidates.") \
    X(constraint_violated, 422, false, "The point breaks a constraint of the space.", "Correct the point; the pointer names it.") \
    X(cpu_exhausted, 429, true, "The project has computed for as long as it may on one day.", "Ask again after Retry-After, or ask for what needs no model: random and sobol points, and queued trials, are given all the same.") \
    X(csv_column, 422, false, "The CSV lacks a column that is needed.", "Add the column that the detail names.") \
    X(csv_header, 422, false, "The CSV has no usable header line.", "Name each column once in the first line.") \
    X(csv_unreadable, 422, false, "The text cannot be read as CSV.", "Send RFC 4180 in UTF-8, with quotes closed.") \
    X(csv_value, 422, false, "A cell of the CSV is empty or not a finite number.", "Correct the cell that the detail names.") \
    X(csv_width, 422, false, "A line of the CSV has another number of cells than the header.", "Give every line a cell for each column.") \
    X(curator_key_required, 422, false, "A private study has no key of its curator.", "Give curator_key, the line that gnomon key prints.") \
    X(cut_off, 422, false, "The export ends before its last line.", "Export it again.") \
    X(cyclic_beliefs, 422, false, "Beliefs about agents lead back to themselves or to a level that is not lower.", "Let each agent believe others to be on lower levels than its own.") \
    X(deadline_exceeded, 503, true, "There was no answer in the time that a request has, the wait for its turn included.", "Ask again, for less at once, or set the study a cheaper algorithm.") \
    X(default_project, 409, false, "The default project has everything that is in no other, and stays.", "Delete what is in it instead.") \
    X(default_required, 422, false, "An earlier trial has a new parameter of the space, and there is no default to give it.", "Give the parameter a default.") \
    X(deleted, 404, false, "What this Idempotency-Key was answered about is deleted.", "Use a new key for a new request.") \
    X(digest_mismatch, 422, false, "The bytes that came are not those that were declared.", "Send the file that was declared again, from its first byte.") \
    X(disk_full, 507, true, "The disk of the server is full; nothing was changed.", "Ask again after Retry-After; the operator makes room.") \
    X(draining, 503, true, "The server is about to stop.", "Ask again: the next one takes over.") \
    X(duplicate_name, 422, false, "A name, a number or an id is there twice.", "Give each one once; the pointer names the second.") \
    X(earlier_matrix_differs, 409, false, "The candidates are not those of the earlier study, so their numbers mean other rows.", "Upload the same matrix, or leave the earlier study out.") \
    X(earlier_metrics_differ, 422, false, "An earlier study has not the same single metric with the same goal.", "Leave it out, or name the metric alike.") \
    X(earlier_parameter_missing, 422, false, "An earlier study knows no parameter of the new one.", "Leave it out; where what they share depends on what it lacks, give that in earlier_defaults.") \
    X(earlier_space_differs, 422, false, "An earlier study has a space that cannot be compared with this one.", "Leave it out.") \
    X(earlier_study_empty, 409, false, "An earlier study has no value at a point of the new space.", "Leave it out, or widen the ranges.") \
    X(empty_categorical, 422, false, "A categorical parameter has no values.", "Give at least one value.") \
    X(empty_range, 422, false, "max is less than min, or not greater where there must be room between them.", "Give a range that holds something.") \
    X(events_gone, 410, false, "Events after this cursor were older than the service keeps them, and are deleted; or the store is an older copy, whose log ends before it.", "Begin again without a cursor: what is still there comes first, then what happens.") \
    X(expectation_failed, 417, false, "The Expect header asks for what the server does not do.", "Send 100-continue or nothing.") \
    X(export_too_large, 413, false, "The study is too large for one document.", "Read its trials page by page.") \
    X(external_id_conflict, 409, false, "The external_id is that of a trial with another result or point.", "Give each result its own external_id.") \
    X(federation_active, 409, false, "The federation is active already.", "Nothing needs to be done.") \
    X(federation_completed, 409, false, "The federation is over; the reason says why.", "Go on with what was received: agents need no server to continue alone.") \
    X(federation_full, 409, false, "All seats of the federation are taken.", "Create a federation with more seats.") \
    X(federation_has_studies, 409, false, "Studies of this server are agents of the federation.", "Delete these studies first.") \
    X(federation_not_found, 404, false, "There is no federation with this id, or this token may not see it.", "Check the id and the token's resource.") \
    X(federation_paused, 409, true, "The federation is paused.", "Ask again after POST to its resume.") \
    X(fixed_conflict, 409, false, "What is to be handed out next has other values than those in fixed, or every such point has been used.", "Ask without fixed or with another worker, or fix other values.") \
    X(forbidden, 403, false, "The token is valid, but its scope or its resource does not allow this.", "Use a token with a scope that the operation lists.") \
    X(game_completed, 409, false, "The game is over; the reason says why.", "Create another game.") \
    X(game_not_found, 404, false, "There is no game with this id, or this token may not see it.", "Check the id and the token's resource.") \
    X(game_too_large, 422, false, "So many agents, actions, beliefs or rounds cannot be computed in time or held in memory.", "Give fewer of what the pointer names.") \
    X(graph_too_large, 413, false, "The graph has more sites, edges, macro-actions or observations than are taken.", "Keep to the limits of the space's schema.") \
    X(headers_too_large, 431, false, "The headers together are larger than the limit.", "Send fewer or shorter ones.") \
    X(hyper_parameters_required, 422, false, "The model has neither hyper-parameters nor enough observations to estimate them from.", "Give length_scale, signal_variance, noise_variance and mean, or observations of the graph.") \
    X(idempotency_key_reused, 422, false, "The Idempotency-Key came before with another request.", "Use a new key for a new request, the same bytes for a repeat.") \
    X(import_not_found, 404, false, "Nothing has arrived of such a file.", "Name the file by its SHA-256 in lower-case hexadecimal, and send it from its first byte.") \
    X(import_too_large, 413, false, "The export, or a line of it, is larger than the limit.", "Move the store instead: deploy/README.md.") \
    X(impossible_condition, 422, false, "A condition can never be met, because of another condition.", "Correct the values that it lists.") \
    X(inactive_parameter, 422, false, "The point has a parameter that does not exist with its other values.", "Leave the parameter out; the pointer names it.") \
    X(internal, 500, false, "A fault of the program.", "Report it with the request_id and the log of the server.") \
    X(lease_lost, 409, false, "The trial is not held under this lease any more: it was handed to another worker, or queued again.", "Stop the run, and ask for another trial; send lease with everything that is said of a trial.") \
    X(ledger_fork, 409, false, "The curator's ledger has lines that this server knows as others: it was taken back, or goes on twice.", "Go on with the ledger that has all releases.") \
    X(length_required, 411, false, "An upload has no Content-Length.", "Send the length of the body.") \
    X(malformed_json, 400, false, "The body is not one JSON value in UTF-8, or a member is there twice.", "Correct the place that the detail names.") \
    X(manifest_conflict, 409, false, "The study has another manifest already.", "Create another study for another release.") \
    X(manifest_required, 409, false, "There is no manifest to compare the upload with.", "POST the manifest first.") \
    X(message_conflict, 409, false, "The agent has sent another vector for this round.", "Send each round's vector once; a repeat must be the same.") \
    X(method_not_allowed, 405, false, "The address exists, but not with this method.", "Use one that the Allow header lists.") \
    X(missing_column, 422, false, "The CSV lacks the column of a parameter or a metric.", "Add the column; the header names columns as the export does.") \
    X(missing_member, 422, false, "A member that is needed is not there.", "Add it; the pointer names it.") \
    X(mostly_noise, 422, false, "With so few members or so small an epsilon a release would be mostly noise, likelier to hurt than to help.", "Take more seats, a larger epsilon or fewer features, or say accept_noise in the algorithm.") \
    X(no_constraints, 409, false, "There is nothing that a trial of the study could violate: no constraint, and none was infeasible.", "Ask for the quantity value.") \
    X(no_earlier_studies, 409, false, "The study's algorithm learns from no other study.", "Ask this of a study with an algorithm of transfer.") \
    X(no_epochs, 409, false, "The study has no curves: it was created without stopping and without epochs.", "Create it with stopping, whose rule may be none.") \
    X(no_feasible_point, 422, false, "No point within the bounds satisfies all constraints.", "Loosen a constraint or a bound.") \
    X(no_macro_action, 422, false, "No macro-action leaves the site where the agent starts.", "Add edges or macro-actions, or start elsewhere.") \
    X(no_memory, 503, true, "The request needs more memory than its limit allows, or than there is.", "Ask for less at once; the same request can succeed when others are done.") \
    X(no_model, 409, false, "The study's algorithm has no model to ask.", "Ask this of a study with an algorithm that has one, such as gp.") \
    X(no_observations, 409, false, "There are no values yet to answer from.", "Observe some trials first.") \
    X(no_parameters, 409, false, "The study's space has no parameters.", "Ask this of a study over parameters.") \
    X(no_such_row, 422, false, "There is no candidate with this number.", "Give a row of the matrix; the first is 0.") \
    X(not_a_release, 422, false, "The file's numbers cannot come from the mechanism that its manifest names.", "Upload the file that gnomon project wrote, unchanged.") \
    X(not_candidates, 409, false, "The study's space is not a set of candidates.", "Create it with a space of type candidates.") \
    X(not_cloneable, 409, false, "The study has what must not be there twice: rows that are private, or a seat in a federation.", "Create a study of its own, with what it needs.") \
    X(not_editable, 422, false, "Suggestions are made from this member, so it stays as it is.", "Make another study with it.") \
    X(not_finite, 422, false, "A number is infinite or not a number.", "Send finite numbers only.") \
    X(not_found, 404, false, "There is nothing at this address.", "openapi.yaml has every address.") \
    X(not_implemented, 501, false, "The method or a transfer coding is not one that the server has.", "Use the methods of openapi.yaml, and no coding but chunked.") \
    X(not_modelled, 422, false, "The metric is only recorded, and no model knows it.", "Name an objective or a constraint; plots take this one, too.") \
    X(not_npy, 422, false, "The bytes are not an .npy file that is accepted.", "Send version 1 or 2, little-endian, C order, of the documented type.") \
    X(not_shareable, 403, false, "The earlier study was created with shareable false.", "Leave it out.") \
    X(not_supported, 422, false, "The algorithm does not do this with such a space, metrics or options.", "Choose another algorithm or other options; GET /v1/meta lists them.") \
    X(numeric, 500, false, "A computation had no finite result.", "Report it with the request_id; other points or observations may avoid it.") \
    X(old_secret, 403, false, "The token has a new secret, and the old one, which is still good for a while, gives and takes no access.", "Rotate, make and revoke tokens with the new secret; who does not have it asks whoever made the token.") \
    X(one_objective, 409, false, "The study has one objective, and no front.", "Ask for its best trial.") \
    X(operation_finished, 409, false, "The operation has ended.", "Read its result.") \
    X(operation_not_found, 404, false, "There is no operation with this id, or this token may not see it.", "Check the id.") \
    X(other_agent, 403, false, "The token speaks for another agent.", "Use the token that the agent's registration gave.") \
    X(out_of_range, 422, false, "A value, a length or a count is outside its range.", "Keep to the range that the detail and the schema name.") \
    X(outside_space, 409, false, "No point of the slice's grid lies in the space.", "Slice at another trial: the parameter does not exist with this one's values, or these lie outside.") \
    X(parallelism_reached, 409, true, "As many trials run as the study lets run at once.", "Ask again after Retry-After, or raise parallelism.") \
    X(payoffs_differ, 422, false, "The payoffs of the game are common, but those sent differ.", "Send the same payoff for every agent.") \
    X(payoffs_do_not_add_up, 422, false, "The payoffs do not add up to the game's total.", "Correct them, or leave one out.") \
    X(planning, 503, true, "A plan for this study is being made.", "Ask again after Retry-After.") \
    X(precondition_required, 428, false, "A change that could undo another one came without If-Match.", "Send the ETag of the last GET as If-Match.") \
    X(private_study, 422, false, "The study is private: its points cannot be named.", "Ask for trials, and observe these by number.") \
    X(project_not_empty, 409, false, "The project still has studies, federations or games.", "Delete them first.") \
    X(project_not_found, 404, false, "There is no project with this id, or this token may not see it.", "Check the id; a token sees its own project, GET /v1/whoami names it.") \
    X(quota_exceeded, 403, false, "The project would have more trials, bytes or studies than its quota allows.", "Delete what is not needed any more, or ask the operator for more: GET /v1/projects/{id} shows both.") \
    X(rate_limited, 429, true, "The project sends more requests a second than it may.", "Ask again after Retry-After; RateLimit says how many are left.") \
    X(regions_do_not_divide, 422, false, "No parameter can be cut into so many equal slices.", "Choose a number of regions that divides the values of a parameter.") \
    X(reply_not_kept, 409, false, "The request was done when its Idempotency-Key came first; its answer is not kept any more, because the token was given many since.", "Read what it has changed; use a new key for a new request.") \
    X(request_timeout, 408, true, "The request came too slowly.", "Send it again, at once and whole.") \
    X(results_are_final, 409, false, "What was answered for privacy, sent to a federation or walked on a graph cannot be taken back.", "Leave it; the detail says what cannot be changed.") \
    X(rotated_meanwhile, 409, false, "Another request has given the token a new secret meanwhile.", "Take the secret that it was given; if that is not yours, rotate again.") \
    X(round_closed, 409, false, "The round is closed; the vector was taken before, or came too late.", "Read the round's broadcast, and send for the open round.") \
    X(round_not_found, 404, false, "There is no such round, or no number in its place.", "Rounds are numbered from 1.") \
    X(round_not_open, 409, false, "Another round is the open one.", "Send for the round that the detail names.") \
    X(round_observed, 409, false, "The round was observed with another action or payoff.", "Keep the first: what was observed does not change.") \
    X(round_open, 409, true, "The round is still open, so it has no broadcast.", "Ask again after Retry-After.") \
    X(row_taken, 409, false, "The candidate is a trial already.", "Observe that trial.") \
    X(search_space_exhausted, 409, false, "Every point of the space has been used.", "Complete the study, or create one with a larger space.") \
    X(seat_taken, 409, false, "The seat is an agent's or a study's.", "Use that agent's token; an admin can make a new one.") \
    X(space_conflict, 409, false, "The space has a parameter of this name that is another.", "Say only what is new of it, or take another name.") \
    X(space_grew, 409, false, "The space is not the one that the request is about: it has grown since.", "GET the study, and send the request again with its space_revision, or without.") \
    X(space_shrinks, 409, false, "A bound lies inside the range that the space has: spaces only grow.", "Leave the bound out.") \
    X(stale_version, 412, false, "If-Match names another version: somebody changed it since.", "GET it again, and decide anew.") \
    X(step_out_of_order, 409, false, "A later step of the trial was reported before.", "Report steps in order; steps may be skipped.") \
    X(step_reported, 409, false, "The step was reported with another value.", "Go on with the next step: what was reported stays.") \
    X(stopped, 503, true, "The client went away, or the server stops.", "Send the same request again.") \
    X(store_corrupt, 503, false, "Something in the store is not what was written.", "See GET /readyz: if it is ready, only this study, federation or game is damaged: what of it is sound can be read. The operator runs gnomon verify --data, and restores a backup.") \
    X(store_error, 500, false, "The store refused; nothing was changed.", "Look at the server's log; report it with the request_id.") \
    X(store_io, 500, false, "The disk of the store failed; nothing was changed.", "Look at the server's log, and at its disk.") \
    X(store_rolled_back, 503, true, "An older copy of the store was brought back: debits of privacy and revoked tokens may be forgotten.", "The operator stops the server and runs gnomon restore --acknowledge-rollback.") \
    X(stored_rules, 500, false, "How a study is run cannot be read by this version.", "Look at the server's log; report it with the request_id.") \
    X(stored_spec, 500, false, "A specification in the store cannot be read by this version.", "Look at the server's log; report it with the request_id.") \
    X(study_active, 409, false, "The study is active already.", "Nothing needs to be done.") \
    X(study_completed, 409, false, "The study is over; the reason says why.", "Read its best trial; raise its budget and POST to its reopen to go on.") \
    X(study_differs, 409, false, "There is a study of this name with another specification; each pointer says where.", "Take its specification, or another name.") \
    X(study_ends, 409, false, "A budget or a rule has ended the study, and others still run its last trials; the reason says which.", "Stop; the study completes when they end.") \
    X(study_not_found, 404, false, "There is no study with this id, or this token may not see it.", "Check the id and the token's resource.") \
    X(study_paused, 409, true, "The study is paused: results are taken, but no trials handed out.", "Ask again after Retry-After; POST to its resume ends the pause.") \
    X(threads, 503, true, "The machine gives the server no more threads.", "Ask again after Retry-After.") \
    X(token_not_found, 404, false, "There is no valid token with this id.", "List the tokens.") \
    X(too_close, 422, false, "Two values of a discrete parameter can hardly be told apart.", "Let neighbours differ by more than 1e-12 of the range.") \
    X(too_few_rows, 422, false, "A private release of so few rows would be noise only.", "Use more rows, fewer columns or a larger epsilon.") \
    X(too_large, 413, false, "What would be stored is larger than the store takes.", "Send less.") \
    X(too_many_imports, 503, true, "Too many imports of the project are not complete.", "Complete or delete one, send the file in one request, or ask again after Retry-After: those that nobody goes on with are dropped after a day.") \
    X(too_many_observations, 409, false, "There are more observations than this answer is computed from.", "Ask a smaller study.") \
    X(too_many_parameters, 409, false, "There are more parameters than this answer is computed for.", "Ask this of a study with fewer parameters.") \
    X(too_many_requests, 429, true, "Too many wrong tokens came from this address.", "Wait for Retry-After, and correct the token.") \
    X(too_many_rows, 413, false, "The CSV has more lines than are taken at once.", "Send it in parts.") \
    X(too_many_tokens, 413, false, "The JSON has more structural characters, objects or arrays than are read.", "Send it in parts; GET /v1/meta has the limits.") \
    X(too_many_values, 422, false, "A parameter has more values than are taken.", "Give fewer, or use a parameter of type int or double.") \
    X(too_many_waiting, 429, true, "This token has too many requests waiting.", "Ask again after Retry-After, with fewer at once.") \
    X(trial_abandoned, 409, false, "The trial was abandoned, so there is no result to retract.", "Nothing is left to do.") \
    X(trial_corrected, 409, false, "The trial's result was corrected, so it is not tried again.", "Measure it again, and correct it to that.") \
    X(trial_finished, 409, false, "The trial has ended with another result.", "Keep the first, or correct it.") \
    X(trial_has_curve, 409, false, "The trial has measurements, which stay as they are.", "Queue its point as a new trial.") \
    X(trial_not_failed, 409, false, "Only failed and abandoned trials are tried again.", "Queue its point as a new trial.") \
    X(trial_not_finished, 409, false, "The trial is queued or running: it has no result to correct or retract.", "Observe its result, or abandon it.") \
    X(trial_not_found, 404, false, "The study has no trial with this number.", "Numbers begin with 1 and have no gaps.") \
    X(trial_not_running, 409, false, "The trial is not running.", "Ask for a trial with suggest.") \
    X(trial_outside, 409, false, "The trial lies outside the space, where nothing is tried.", "Measure its point yourself, and observe it again.") \
    X(trial_retracted, 409, false, "The result of the trial was retracted.", "Give it a result by correcting it.") \
    X(unauthorized, 401, false, "There is no token, or it is not valid, has expired or was revoked.", "Send Authorization: Bearer with a valid token.") \
    X(unknown_agent, 422, false, "There is no agent of this name.", "Use a name of the game's agents.") \
    X(unknown_algorithm, 422, false, "There is no such algorithm.", "GET /v1/meta lists them.") \
    X(unknown_column, 422, false, "The CSV has a column that the study does not know.", "Leave it out, or name it as the export does.") \
    X(unknown_federation, 422, false, "The federation that the study shall join does not exist, or this token may not see it.", "Check its id.") \
    X(unknown_member, 422, false, "The request has a member that is not known.", "Correct its spelling; the pointer names it, the schema has all.") \
    X(unknown_metric, 422, false, "The study has no metric of this name.", "Use a name of its metrics.") \
    X(unknown_parameter, 422, false, "The space has no parameter of this name.", "Use a name of its parameters.") \
    X(unknown_project, 422, false, "There is no project with this id to make a token in, or it is not that of who asks.", "Leave it out, or check the id.") \
    X(unknown_resource, 422, false, "There is no study, federation or game with this id to bind a token to.", "Check its id.") \
    X(unknown_site, 422, false, "The graph has no such site.", "Use a number of its sites, or one of their ids.") \
    X(unknown_value, 422, false, "The value is none of those that are possible here.", "Use one that the detail or the schema lists.") \
    X(unknown_version, 422, false, "The export is of a later version than this program reads.", "Import it with a later program.") \
    X(unsupported_media_type, 415, false, "The body's Content-Type is not one that the operation takes.", "Use one that openapi.yaml lists.") \
    X(uploads_locked, 409, false, "Too many files were refused, so uploads are locked.", "Correct the file; POST to the study's resume allows uploads again.") \
    X(uri_too_long, 414, false, "The address is longer than the limit.", "Send long values in a body.") \
    X(wrong_algorithm, 422, false, "The federation has another algorithm.", "Use the one that the detail names.") \
    X(wrong_features, 422, false, "The message was made with other random features than the federation's.", "Read the federation's random features again.") \
    X(wrong_key, 422, false, "The manifest is signed by another key than that of the study's curator.", "Sign with the curator's key, or create another study.") \
    X(wrong_length, 422, false, "A list has another number of items than it must have.", "Give as many as the detail says.") \
    X(wrong_offset, 409, true, "The upload does not go on where the last piece ended.", "Send the byte that the detail names next.") \
    X(wrong_place, 422, false, "No macro-action leads from where the agent stands through these sites.", "Start where the agent stands.") \
    X(wrong_shape, 422, false, "An array has other dimensions than it must have.", "Give the shape that the detail names.") \
    X(wrong_space, 422, false, "This is not for studies with such a space.", "Use the members that fit the type of the space.") \
    X(wrong_type, 422, false, "A member has another JSON type than it must have.", "Send the type that the schema names; the pointer names the member.")
// clang-format on

#endif
