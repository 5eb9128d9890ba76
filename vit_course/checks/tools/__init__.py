"""Tools for writing checks: call the learner's object, look at what comes back, name what is wrong.

Each tool raises `Wrong` at the first thing that is wrong, so a check reads as a list of demands.

    calling     call: the learner's result, or the error as a `Wrong`
    functions   Mistake, same_function, same_values: a function beside the right one and the wrong ones; keeps_dtype:
                what it gives for inputs of other dtypes
    mistakes    Slip, wrong_functions, by_value, by_answer, refuse: what people do wrong, by a wrong function, value or
                condition; named_by_details: an error or a shape known by what it says
    common      usual_slips: what happens in any function, told by its axes (`same_function` knows them); right_at
    modules     build, feed, count, repeats, alone, trained_by, ...: a module of the learner's, whatever its parts
    accountant  counted: how many numbers a module learns, and every reading of a wrong number
    flat        Flat: all numbers that a module learns as one row
    put_weights same_module: a module whose stub names its parameters, beside the right function of the same weights
    rows_of_blocks  run, slips: blocks one after the other and a norm behind them
    watched_steps               what the optimisers do while a learner's code trains
    tensors     tensor, equal, agree: one tensor that came back
    by_hand     same_answers: numbers and choices, the right ones never shown; truth: True or False
    returned    real: one number, whatever its type; of_type: an int or a float and nothing else; named: a dict, with
                the names that were asked for
    experiments reported, shares, made_again, follows, ...: what several runs gave, and whether the conclusion follows
    chapter     of_chapter: what a chapter's cells define, for runs that are made again
    words       describe, number: what a thing is, in a few words
"""
