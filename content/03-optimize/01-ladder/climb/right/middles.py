def speedup(share, factor):
    before = 1000.0
    after = before - before * share + before * share / factor
    return before / after


def climb(steps, measure):
    chosen, best = [], measure([])
    for step in steps:
        here = measure(chosen + [step])
        gain = (best[0] + best[1]) / 2 - (here[0] + here[1]) / 2
        uncertain = (best[1] - best[0]) / 2 + (here[1] - here[0]) / 2
        if gain > uncertain:
            chosen.append(step)
            best = here
    return chosen
