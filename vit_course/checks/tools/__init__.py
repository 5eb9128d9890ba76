"""Tools for writing checks: call the learner's object, look at what comes back, name what is wrong.

Each tool raises `Wrong` at the first thing that is wrong, so a check reads as a list of demands.

    calling            call: the learner's result, or the error as a `Wrong`
    functions          same_function, same_values: a function beside the right one and the wrong ones; keeps_dtype:
                       what it gives for inputs of other dtypes
    no_gradient        same_without_gradient: as same_function, where NumPy is as good as PyTorch
    mistakes           Mistake: what people do wrong; bugs_left: what is left of a faulty version; refuse: by a
                       condition; refuse_number, by_value, by_answer: by a number; named_by_details: an error or a
                       shape known by what it says
    attention_mistakes, rows_of_blocks   mistakes that several exercises have
    common             usual_mistakes: what happens in any function, told by its axes (`same_function` knows them)
    axes               axes_named: a wrong shape or an error about two lengths, told by the names of the axes
    modules            build, feed, count, repeats, alone, trained_by, ...: a module of the learner's
    parameter_counts   check_count: how many numbers a module learns, and every reading of a wrong number
    flat_parameters    FlatParameters: all numbers that a module learns as one row
    put_weights        same_module: a module whose stub names its parameters, beside the right function
    watched_steps      what the optimisers do while a learner's code trains
    tensors            tensor, equal, agree: one tensor that came back
    by_hand            same_answers: numbers and choices, the right ones never shown; truth: True or False
    returned           real: one number, whatever its type; of_type: an int or a float and nothing else; named: a dict
    experiments        reported, shares, rerun, follows, ...: what several runs gave, and whether the conclusion follows
    chapter            of_chapter: what a chapter's cells define, for runs that are made again
    words              describe, told_apart: what a thing is, in a few words
    builtin_values     to_builtin: plain values in place of those of a learner's own class
"""
