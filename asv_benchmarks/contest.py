"""One row, measured: ours, peer, ours, peer, ... in one process, the best of several rounds."""

import gc

LEAST_SECONDS = 2.0  # short work is repeated for so long, at most ten times the rounds asked for


def contest(row, *, repeat=7, quick=False):
    """Run one row and return what the JSON file says about it.

    Parameters
    ----------
    row : Row
    repeat : int
        Rounds; each runs everybody once.
    quick : bool
        Tiny data: shows that it works, says nothing about speed.

    Returns
    -------
    dict
        ``name, goal, verdict, problem, seconds, rounds, peer, ratio, peers``. The verdict is
        "ok", "short" (slower than the goal), "wrong" (our result is not right), "failed" (we
        raised), "no peer", or "trial" (right, but too quick to judge). ``peer`` is the fastest
        one whose result is right.
    """
    outcome = {"name": row.name, "goal": row.goal, "problem": "", "seconds": None, "rounds": 0}
    outcome |= {"peer": None, "ratio": None, "peers": []}
    data = row.setup(quick)
    problem, failed = _first_run(row, row.ours, data, exact=True)
    if failed:
        return outcome | {"verdict": "failed", "problem": problem}
    entries = _line_up(row, data)
    running = [(entry, run) for entry, run in entries if run is not None]
    runs = [row.ours, *(run for _, run in running)]
    best, outcome["rounds"] = _interleave(row, runs, data, repeat, quick)
    for (entry, _), seconds in zip(running, best[1:], strict=True):
        entry["seconds"] = seconds
    outcome |= {"seconds": best[0], "problem": problem, "peers": [entry for entry, _ in entries]}
    right = [peer for peer in outcome["peers"] if not peer["problem"]]
    if right:
        fastest = min(right, key=lambda peer: peer["seconds"])
        outcome |= {"peer": fastest["name"], "ratio": fastest["seconds"] / best[0]}
    return outcome | {"verdict": _verdict(outcome, quick)}


def _verdict(outcome, quick):
    if outcome["problem"]:
        return "wrong"
    if outcome["ratio"] is None:
        return "no peer"
    if quick:
        return "trial"
    return "ok" if outcome["ratio"] >= outcome["goal"] else "short"


def _first_run(row, run, data, exact):
    """Warm up, and return what is wrong with the result and whether there is none at all."""
    try:
        return row.agree(data, run(data), exact), False
    except Exception as error:  # whatever it is, the other rows are still wanted
        return f"{type(error).__name__}: {error}", True


def _line_up(row, data):
    """Return ``(entry, run)`` for each peer installed; run is None if its first run failed."""
    entries = []
    for name, peer in row.peers.items():
        version = peer.version()
        if version is None:
            continue
        problem, failed = _first_run(row, peer.run, data, peer.exact)
        entry = {"name": name, "version": version, "exact": peer.exact}
        entry |= {"seconds": None, "problem": problem}
        entries.append((entry, None if failed else peer.run))
    return entries


def _interleave(row, runs, data, repeat, quick):
    best, rounds, spent = [float("inf")] * len(runs), 0, 0.0
    most, least_seconds = (repeat, 0.0) if quick else (10 * repeat, LEAST_SECONDS)
    while rounds < repeat or (spent < least_seconds and rounds < most):
        for i, run in enumerate(runs):
            gc.collect()  # nobody pays for what another left behind
            seconds, _ = row.clock(run, data)
            best[i] = min(best[i], seconds)
            spent += seconds
        rounds += 1
    return best, rounds
