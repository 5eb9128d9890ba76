"""What checks are written with: call the learner's object, look at what comes back, name what is wrong.

Each tool raises `Wrong` at the first thing that is wrong, so a check reads as a list of demands.

    calling     call: the learner's result, or the error as a `Wrong`
    functions   Mistake, one_mistake, same_function, same_values: a function beside the right one and the wrong ones
    modules     build, fill, count: a module of the learner's, whatever its parameters are called
    tensors     tensor, equal, agree: one tensor that came back
    by_hand     same_answers, same_answer: numbers and choices, the right ones never shown
    dicts       named: a dict, with the names that were asked for
    numbers     real: one number, whatever its type
    experiments shares, losses, follows, ...: what several runs gave, and whether the conclusion follows
    words       describe, number: what a thing is, in a few words
"""
