"""What checks are written with: call the learner's object, look at what comes back, name what is wrong.

Each tool raises `Wrong` at the first thing that is wrong, so a check reads as a list of demands.

    calling     call: the learner's result, or the error as a `Wrong`
    functions   Mistake, same_function, same_values: a function beside the right one and the wrong ones
    table       table, known, values, by_answer, refuse: what goes wrong, read from NAME.toml beside the exercise
    slips       by_results, named_by_details: a mistake known by its result, an error or a shape known by what it says
    usual       usual_slips: what happens in any function, told by its axes; `same_function` knows them
    modules     build, feed, count, repeats, alone, trained_by, ...: a module of the learner's, whatever its parts
    flat        Flat: all numbers that a module learns as one row
    roles       find_roles: which of them make queries, keys, values and the output, found by changing them
    heads       attend, name_the_slip: what attention gives for them, and what its usual slips give
    biases      draw_biases: the same for biases
    accountant  counted: every reading of a wrong number of parameters
    tokens_meet  each token sees all, in no order
    parts, whole_parts          norms and branches of a block, and of a whole model, found by changing their numbers
    blocks, rows_of_blocks      what pre-norm blocks and a norm behind them give, and with one step replaced
    block, whole, whole_embedding    whether a module is an encoder block, or a Vision Transformer
    watched_steps               what the optimisers do while a learner's code trains
    tensors     tensor, equal, agree: one tensor that came back
    by_hand     same_answers, same_answer: numbers and choices, the right ones never shown
    dicts       named: a dict, with the names that were asked for
    numbers     real: one number, whatever its type
    experiments shares, losses, follows, ...: what several runs gave, and whether the conclusion follows
    words       describe, number: what a thing is, in a few words
"""
