"""What checks are written with: call the learner's object, look at what comes back, name what is wrong.

Each tool raises `Wrong` at the first thing that is wrong, so a check reads as a list of demands.

    calling     call: the learner's result, or the error as a `Wrong`
    functions   Mistake, same_function, same_values: a function beside the right one and the wrong ones
    slips       Slip, wrong_functions, by_value, by_answer, refuse: what people do wrong, by a wrong function, value or
                condition; named_by_details: an error or a shape known by what it says
    usual       usual_slips: what happens in any function, told by its axes (`same_function` knows them); right_at
    modules     build, feed, count, repeats, alone, trained_by, ...: a module of the learner's, whatever its parts
    flat        Flat: all numbers that a module learns as one row
    roles       find_roles: which of them make queries, keys, values and the output, found by changing them
    heads       attend, name_the_slip: what attention gives for them, and what its usual slips give
    biases      draw_biases: the same for biases
    tokens_meet  each token sees all, in no order
    parts, blocks, block        an encoder block's norms and branches; what they give; whether a module is one
    whole_parts, whole          the same for a whole model
    whole_embedding             its patches and positions
    watched_steps               what the optimisers do while a learner's code trains
    tensors     tensor, equal, agree: one tensor that came back
    by_hand     same_answers: numbers and choices, the right ones never shown; truth: True or False
    returned    real: one number, whatever its type; named: a dict, with the names that were asked for
    experiments reported, shares, made_again, follows, ...: what several runs gave, and whether the conclusion follows
    chapter     of_chapter: what a chapter's cells define, for runs that are made again
    words       describe, number: what a thing is, in a few words
"""
